internal import FerryCore
internal import NIOCore

/// The part of a provider that does not depend on its protocol: submission, outcomes, events and shutdown.
///
/// The methods of ``LoopProvider`` use it. When its last reference is dropped, every notification without an outcome
/// ends as released.
public final class ProviderBody: Sendable {
    private let commons: ProviderCommons
    /// The drivers, each with its event loop.
    private let drivers: [any ProviderLoop]
    /// The maker of spans; nil if the provider makes none.
    private let spans: ProviderSpans?

    init(_ commons: ProviderCommons, _ drivers: [any ProviderLoop], spans: ProviderSpans?) {
        self.commons = commons
        self.drivers = drivers
        self.spans = spans
    }

    deinit {
        guard !self.commons.calls.haveEnded else { return }
        self.execute { $0.abandon(undelivered: .released, uncertain: .released) }
    }

    /// Calls `body` for each driver on its event loop, unless it has ended. Keeps the drivers alive until then.
    private func execute(_ body: @escaping @Sendable (any ProviderLoop) -> Void) {
        for driver in self.drivers where !driver.hasEnded { driver.eventLoop.execute { body(driver) } }
    }

    /// Asks each driver on its event loop, and waits until all have answered.
    private func ask(_ question: @escaping Question) async -> DrainReport {
        await self.commons.calls.wait { self.put(question, for: $0) }
    }

    private typealias Question = @Sendable (any ProviderLoop, UInt64) -> Void

    private func put(_ question: @escaping Question, for call: UInt64) {
        let commons = self.commons
        for driver in self.drivers {
            if driver.hasEnded {
                commons.calls.answer(call, from: driver.index, isLate: false) { commons.report(unsettledOf: $0) }
            } else {
                driver.eventLoop.execute { question(driver, call) }
            }
        }
    }

    var outcomes: OutcomeStream { OutcomeStream(buffer: self.commons.stream ?? .empty) }

    var counts: OutcomeCounts { self.commons.counts }

    var lastError: ProviderError? { self.commons.trouble }

    // MARK: Notifications

    func submit(_ batch: inout PushBatch) async throws(SubmitError) {
        guard let spans, !batch.isEmpty else { return try await self.take(&batch) }
        let span = spans.begin(submitting: batch.count)
        do {
            try await self.take(&batch)
            spans.end(span)
        } catch {
            spans.end(span, error)
            throw error
        }
    }

    private func take(_ batch: inout PushBatch) async throws(SubmitError) {
        while !batch.isEmpty {
            try self.checkCancellation()
            if case .closed = self.wakeIfNews(self.commons.queue.offer(&batch)) { throw .shutDown }
            if !batch.isEmpty { await self.commons.queue.waitForRoom() }
        }
    }

    func trySubmit(_ batch: inout PushBatch) {
        _ = self.wakeIfNews(self.commons.queue.offer(&batch))
    }

    func send(_ notification: PushNotification, to destination: PushDestination) async throws(SubmitError) -> Outcome {
        guard let spans else { return try await self.outcome(of: notification, to: destination) }
        let span = spans.begin(sending: notification)
        do {
            let outcome = try await self.outcome(of: notification, to: destination)
            spans.end(span, outcome)
            return outcome
        } catch {
            spans.end(span, error)
            throw error
        }
    }

    private func outcome(
        of notification: PushNotification,
        to destination: PushDestination
    ) async throws(SubmitError) -> Outcome {
        let tag = self.commons.awaited.reserve()
        let loop = self.commons.queue.loop(for: destination)
        do {
            try await self.submit(notification, to: destination, awaited: tag, for: loop)
        } catch {
            self.commons.awaited.release(tag)
            throw error
        }
        return await withTaskCancellationHandler {
            await self.commons.awaited.value(of: tag)
        } onCancel: {
            if self.commons.queue.withdraw(tag, from: loop) { self.drivers[loop].wake() }
        }
    }

    private func submit(
        _ notification: PushNotification,
        to destination: PushDestination,
        awaited tag: UInt64,
        for loop: Int
    ) async throws(SubmitError) {
        while true {
            try self.checkCancellation()
            let answer = self.commons.queue.offer(notification, to: destination, awaited: tag, for: loop)
            switch self.wakeIfNews(answer) {
            case .closed: throw .shutDown
            case .full: await self.commons.queue.waitForRoom()
            case .taken: return
            }
        }
    }

    private func checkCancellation() throws(SubmitError) {
        guard Task.isCancelled else { return }
        // This task was woken because there is room. Another waiting task gets that room.
        self.commons.queue.admit()
        throw .cancelled
    }

    private func wakeIfNews(_ answer: SubmissionQueue.Answer) -> SubmissionQueue.Answer {
        if case .taken(let waking) = answer { waking.forEach { self.drivers[$0].wake() } }
        return answer
    }

    // MARK: Events and the end

    func events(bufferingNewest limit: Int, _ interest: EventInterest = .all) -> ProviderEvents {
        self.commons.events.subscribe(bufferingNewest: limit, interest)
    }

    func drain(within limit: Duration) async -> DrainReport {
        await self.ask { $0.drain(within: TimeAmount(limit), call: $1) }
    }

    func shutDown(within limit: Duration, proof: Proof) async -> DrainReport {
        // This comes before the loops are informed. No loop may end while another still gets notifications.
        self.commons.queue.close()
        return await self.ask { $0.shutDown(within: TimeAmount(limit), proof: proof, call: $1) }
    }
}

/// The calls of a program without tasks. Any thread may use them, and they do not wait.
extension ProviderBody {
    /// Calls `body` once, on any thread, when ``trySubmit(_:)`` may take something, or the provider has shut down.
    package func whenRoom(_ body: @escaping @Sendable () -> Void) { self.commons.queue.whenRoom(body) }

    /// Calls `body` once, on any thread, when everything that was taken so far was written at least once, or has its outcome.
    ///
    /// - Returns: a number for ``stopWaiting(_:)``; nil if `body` was called.
    package func whenWritten(_ body: @escaping @Sendable () -> Void) -> UInt64? { self.commons.queue.whenWritten(body) }

    /// Forgets a caller of ``whenWritten(_:)`` who waits no longer.
    package func stopWaiting(_ id: UInt64) { self.commons.queue.stopWaiting(id) }

    /// The number of notifications that ``trySubmit(_:)`` may take now. Another thread may be faster.
    package var room: Int { self.commons.queue.room }

    /// Subscribes to the events but ``ProviderEvent/transmitted(_:tags:)``, for a reader that does not await. `onNews` is called
    /// on any thread after an event.
    package func events(bufferingNewest limit: Int, onNews: @escaping @Sendable () -> Void) -> ProviderEvents {
        self.commons.events.subscribe(bufferingNewest: limit, .allButTransmitted, onNews: onNews)
    }

    /// The numbers as of the last turn of each event loop, `unsettled` left out.
    package var report: DrainReport { self.commons.report(unsettledOf: LoopSet()) }

    /// Whether the provider takes nothing more.
    package var isClosed: Bool { self.commons.queue.isClosed }

    /// Shuts down as ``shutDown(within:proof:)`` does. The report goes to `receive` once, on any thread.
    package func shutDown(within limit: Duration, proof: Proof, receive: @escaping @Sendable (DrainReport) -> Void) {
        self.commons.queue.close()
        let question: Question = { $0.shutDown(within: TimeAmount(limit), proof: proof, call: $1) }
        self.commons.calls.call({ self.put(question, for: $0) }, receive: receive)
    }
}
