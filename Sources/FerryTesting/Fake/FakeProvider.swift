public import FerryCore
internal import FerryHTTP2

/// A provider without connections, for the tests of a program that sends through a `PushProvider`.
///
/// ```swift
/// let provider = FakeProvider(topic: "com.example.app") { notification, device in
///     device == gone ? .rejected(Rejection(reason: .unregistered, origin: .apns, status: 410)) : .accepted(.confirmed)
/// }
/// await program.run(with: provider)
/// #expect(provider.submissions.count == 3)
/// ```
///
/// It takes all notifications at once, so `submit` never waits. Every notification has its outcome when the call returns. It
/// refuses the notifications that `HTTP2Provider` refuses before it sends, in the same words: for a missing topic, a topic
/// that contradicts the push type, or a payload that is too long. Any thread may use it.
public final class FakeProvider: PushProvider {
    /// Decides the outcome of a notification.
    public typealias Answer = @Sendable (PushNotification, DeviceToken) -> Outcome

    private struct State {
        var submissions: [Submission] = []
        var counts = OutcomeCounts()
        var lastError: ProviderError?
        var isShutDown = false
        /// The calls that have taken notifications and not yet handed over their outcomes.
        var underWay = 0
        /// Outcomes for the sink or the stream, which get them in order.
        var pending: [OutcomeRecord] = []
        var isDelivering = false
    }

    private let answer: Answer
    private let check: RequestCheck
    private let sink: (any OutcomeSink)?
    private let buffer: OutcomeBuffer?
    private let hub = EventHub()
    private let state = Locked(State())

    /// - Parameters:
    ///   - topic: the topic of notifications that name none, as `HTTP2Configuration.topic`. Without one, they are rejected.
    ///   - outcomes: the receiver of the outcomes of ``submit(_:)`` and ``trySubmit(_:)``.
    ///   - answer: called for each notification that a provider would send, on the thread that submits it.
    public init(
        topic: String? = nil,
        outcomes: OutcomeDelivery = .discard,
        answer: @escaping Answer = { _, _ in .accepted(.confirmed) }
    ) {
        self.answer = answer
        self.check = RequestCheck(bundleID: topic, usesTokens: true)
        if case .sink(let sink) = outcomes { self.sink = sink } else { self.sink = nil }
        if case .stream = outcomes { self.buffer = OutcomeBuffer {} } else { self.buffer = nil }
    }

    /// The notifications that were taken, in order. Those of ``send(_:to:)`` have the tag 0.
    public var submissions: [Submission] { self.state.withLock { $0.submissions } }

    /// Gives an event to the subscriptions. An error becomes ``lastError``.
    public func report(_ event: ProviderEvent) {
        if let error = event.providerError { self.state.withLock { $0.lastError = error } }
        self.hub.send(event)
    }

    // MARK: PushProvider

    /// The outcomes, if the fake was made with `OutcomeDelivery.stream`; otherwise a stream that has ended.
    public var outcomes: OutcomeStream { OutcomeStream(buffer: self.buffer ?? .empty) }

    /// The outcomes so far, by kind.
    public var counts: OutcomeCounts { self.state.withLock { $0.counts } }

    /// The last error that ``report(_:)`` was given.
    public var lastError: ProviderError? { self.state.withLock { $0.lastError } }

    /// Takes all notifications of the batch.
    ///
    /// - Throws: `SubmitError.shutDown` after ``shutDown(within:proof:)``, `SubmitError.cancelled` in a task that was
    ///   cancelled.
    public func submit(_ batch: inout PushBatch) async throws(SubmitError) {
        if Task.isCancelled, !batch.isEmpty { throw .cancelled }
        self.trySubmit(&batch)
        if !batch.isEmpty { throw .shutDown }
    }

    /// Takes all notifications of the batch; none after ``shutDown(within:proof:)``.
    public func trySubmit(_ batch: inout PushBatch) {
        guard self.begin() else { return }
        while let submission = batch.popFirst() {
            let outcome = self.settle(submission)
            let record = OutcomeRecord(tag: submission.tag, outcome: outcome, apnsID: submission.notification.apnsID)
            self.state.withLock { $0.pending.append(record) }
        }
        self.deliver()
        self.state.withLock { $0.underWay -= 1 }
    }

    /// Hands over the pending outcomes, unless another call is doing so and will find them. A sink may submit, so such a
    /// call may have begun further up on this thread.
    private func deliver() {
        while true {
            let records = self.state.withLock { state -> [OutcomeRecord] in
                guard !state.isDelivering, !state.pending.isEmpty else { return [] }
                state.isDelivering = true
                defer { state.pending = [] }
                return state.pending
            }
            guard !records.isEmpty else { return }
            self.sink?.settled(records.span)
            self.buffer?.append(records)
            self.buffer?.wakeReader()
            self.state.withLock { $0.isDelivering = false }
        }
    }

    /// Notes a call that takes notifications. Returns false after a shutdown.
    private func begin() -> Bool {
        self.state.withLock { state in
            if !state.isShutDown { state.underWay += 1 }
            return !state.isShutDown
        }
    }

    /// Takes one notification, and returns its outcome.
    ///
    /// - Throws: as ``submit(_:)``.
    public func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome {
        if Task.isCancelled { throw .cancelled }
        guard self.begin() else { throw .shutDown }
        defer { self.state.withLock { $0.underWay -= 1 } }
        return self.settle(Submission(notification, to: device, tag: 0))
    }

    /// A subscription to the events of ``report(_:)``.
    public func events(bufferingNewest limit: Int) -> ProviderEvents { self.hub.subscribe(bufferingNewest: limit) }

    /// Returns at once: every notification has its outcome.
    public func drain(within limit: Duration) async -> DrainReport { self.drainReport }

    /// Takes nothing more, waits for the calls that are under way, and ends the streams.
    public func shutDown(within limit: Duration, proof: Proof) async -> DrainReport {
        self.state.withLock { $0.isShutDown = true }
        while self.state.withLock({ $0.underWay > 0 }) { await Task.yield() }
        self.buffer?.finish()
        self.hub.finish()
        return self.drainReport
    }

    private var drainReport: DrainReport {
        self.state.withLock { state in
            DrainReport(
                outcomes: state.counts,
                unsettled: 0,
                contradicted: 0,
                resent: 0,
                lastError: state.lastError
            )
        }
    }

    private func settle(_ submission: Submission) -> Outcome {
        let fault = self.check.fault(of: submission.notification, to: submission.device)
        // The answer is the caller's code, and may use the fake.
        let outcome =
            fault.map { Outcome.rejected($0.rejection) } ?? self.answer(submission.notification, submission.device)
        self.state.withLock { state in
            state.submissions.append(submission)
            state.counts.add(outcome)
        }
        return outcome
    }
}
