internal import FerryCore
internal import NIOCore

/// The part of a provider that does not depend on its protocol: submission, outcomes, events and shutdown.
///
/// The methods of ``LoopProvider`` use it. When its last reference is dropped, every notification without an outcome
/// ends as released.
public final class ProviderBody: Sendable {
    private let driver: any ProviderLoop
    /// Nil: the provider makes no spans.
    private let spans: ProviderSpans?

    init(_ driver: any ProviderLoop, spans: ProviderSpans?) {
        self.driver = driver
        self.spans = spans
    }

    deinit {
        let driver = self.driver
        guard !driver.calls.haveEnded else { return }
        driver.eventLoop.execute { driver.abandon(undelivered: .released, uncertain: .released) }
    }

    var outcomes: OutcomeStream { OutcomeStream(buffer: self.driver.stream ?? .empty) }

    var counts: OutcomeCounts { self.driver.counts }

    var lastError: ProviderError? { self.driver.trouble }

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
            if case .closed = self.wakeIfNews(self.driver.queue.offer(&batch)) { throw .shutDown }
            if !batch.isEmpty { await self.driver.queue.waitForRoom() }
        }
    }

    func trySubmit(_ batch: inout PushBatch) {
        _ = self.wakeIfNews(self.driver.queue.offer(&batch))
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
        let tag = self.driver.awaited.reserve()
        do {
            try await self.submit(notification, to: destination, awaited: tag)
        } catch {
            self.driver.awaited.release(tag)
            throw error
        }
        return await withTaskCancellationHandler {
            await self.driver.awaited.value(of: tag)
        } onCancel: {
            if self.driver.queue.withdraw(tag) { self.driver.wake() }
        }
    }

    private func submit(
        _ notification: PushNotification,
        to destination: PushDestination,
        awaited tag: UInt64
    ) async throws(SubmitError) {
        while true {
            try self.checkCancellation()
            switch self.wakeIfNews(self.driver.queue.offer(notification, to: destination, awaited: tag)) {
            case .closed: throw .shutDown
            case .full: await self.driver.queue.waitForRoom()
            case .taken: return
            }
        }
    }

    private func checkCancellation() throws(SubmitError) {
        guard Task.isCancelled else { return }
        // This task was woken because there is room. Another waiting task gets that room.
        self.driver.queue.admit()
        throw .cancelled
    }

    private func wakeIfNews(_ answer: SubmissionQueue.Answer) -> SubmissionQueue.Answer {
        if case .taken(isNews: true) = answer { self.driver.wake() }
        return answer
    }

    // MARK: Events and the end

    func events(bufferingNewest limit: Int, takesTransmitted: Bool = true) -> ProviderEvents {
        self.driver.events.subscribe(bufferingNewest: limit, takesTransmitted: takesTransmitted)
    }

    func drain(within limit: Duration) async -> DrainReport {
        let driver = self.driver
        return await driver.calls.wait { call in
            driver.eventLoop.execute { driver.drain(within: TimeAmount(limit), call: call) }
        }
    }

    func shutDown(within limit: Duration, proof: Proof) async -> DrainReport {
        let driver = self.driver
        return await driver.calls.wait { call in
            driver.eventLoop.execute { driver.shutDown(within: TimeAmount(limit), proof: proof, call: call) }
        }
    }
}
