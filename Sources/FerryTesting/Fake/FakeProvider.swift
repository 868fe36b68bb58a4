public import FerryCore
internal import Synchronization

/// A provider without connections, for the tests of a program that sends through a `PushProvider`.
///
/// ```swift
/// let provider = FakeProvider { notification, device in
///     device == gone ? .rejected(Rejection(reason: .unregistered, origin: .apns, status: 410)) : .accepted(.confirmed)
/// }
/// await program.run(with: provider)
/// #expect(provider.submissions.count == 3)
/// ```
///
/// It takes everything at once, so `submit` never waits. Every notification has its outcome when the call returns. Any
/// thread.
public final class FakeProvider: PushProvider {
    /// Decides what becomes of a notification.
    public typealias Answer = @Sendable (PushNotification, DeviceToken) -> Outcome

    private struct State {
        var submissions: [Submission] = []
        var counts = OutcomeCounts()
        var lastError: ProviderError?
        var isShutDown = false
    }

    private let answer: Answer
    private let sink: (any OutcomeSink)?
    private let buffer: OutcomeBuffer?
    private let hub = EventHub()
    private let state = Mutex(State())

    /// - Parameters:
    ///   - outcomes: the receiver of the outcomes of ``submit(_:)`` and ``trySubmit(_:)``.
    ///   - answer: called for each notification, on the thread that submits it.
    public init(
        outcomes: OutcomeDelivery = .discard,
        answer: @escaping Answer = { _, _ in .accepted(.confirmed) }
    ) {
        self.answer = answer
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

    /// The outcomes, if the fake was made with ``OutcomeDelivery/stream``; otherwise a stream that has ended.
    public var outcomes: OutcomeStream { OutcomeStream(buffer: self.buffer ?? .empty) }

    /// The outcomes so far, by kind.
    public var counts: OutcomeCounts { self.state.withLock { $0.counts } }

    /// The last error that ``report(_:)`` was given.
    public var lastError: ProviderError? { self.state.withLock { $0.lastError } }

    /// Takes all notifications of the batch.
    ///
    /// - Throws: ``SubmitError/shutDown`` after ``shutDown(within:proof:)``, ``SubmitError/cancelled`` in a task that was
    ///   cancelled.
    public func submit(_ batch: inout PushBatch) async throws(SubmitError) {
        if Task.isCancelled, !batch.isEmpty { throw .cancelled }
        self.trySubmit(&batch)
        if !batch.isEmpty { throw .shutDown }
    }

    /// Takes all notifications of the batch; none after ``shutDown(within:proof:)``.
    public func trySubmit(_ batch: inout PushBatch) {
        var records: [OutcomeRecord] = []
        while let outcome = self.takeFirst(&batch) { records.append(outcome) }
        guard !records.isEmpty else { return }
        self.sink?.settled(records.span)
        self.buffer?.append(records)
        self.buffer?.wakeReader()
    }

    /// Takes one notification, and returns its outcome.
    ///
    /// - Throws: as ``submit(_:)``.
    public func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome {
        if Task.isCancelled { throw .cancelled }
        guard let outcome = self.take(Submission(notification, to: device, tag: 0)) else { throw .shutDown }
        return outcome
    }

    /// A subscription to the events of ``report(_:)``.
    public func events(bufferingNewest limit: Int) -> ProviderEvents { self.hub.subscribe(bufferingNewest: limit) }

    /// Returns at once: every notification has its outcome.
    public func drain(within limit: Duration) async -> DrainReport { self.drainReport }

    /// Takes nothing more, and ends the streams.
    public func shutDown(within limit: Duration, proof: Proof = .automatic) async -> DrainReport {
        self.state.withLock { $0.isShutDown = true }
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

    private func takeFirst(_ batch: inout PushBatch) -> OutcomeRecord? {
        guard !self.state.withLock({ $0.isShutDown }), let submission = batch.popFirst() else { return nil }
        // A shutdown in between does not lose what has left the batch.
        let outcome = self.settle(submission)
        return OutcomeRecord(tag: submission.tag, outcome: outcome, apnsID: submission.notification.apnsID)
    }

    private func take(_ submission: Submission) -> Outcome? {
        guard !self.state.withLock({ $0.isShutDown }) else { return nil }
        return self.settle(submission)
    }

    private func settle(_ submission: Submission) -> Outcome {
        // The answer is the caller's code, and may use the fake.
        let outcome = self.answer(submission.notification, submission.device)
        self.state.withLock { state in
            state.submissions.append(submission)
            state.counts.add(outcome)
        }
        return outcome
    }
}
