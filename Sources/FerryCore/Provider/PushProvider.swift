public import ServiceLifecycle

/// Sends notifications to APNs: over the binary protocol, over HTTP/2, or moving from one to the other.
///
/// Every provider promises:
/// * A notification that was taken ends in exactly one ``Outcome``, whatever happens.
/// * Methods may be called on any thread. Work happens on event loops that the provider was given and does not own.
/// * It is a `Service` of swift-service-lifecycle: see ``run()``.
/// * Notifications to one device keep their order as far as the protocol allows. Between devices there is no order.
public protocol PushProvider: AnyObject, Service {
    /// Takes notifications from the front of `batch` as room appears.
    ///
    /// Returns when the batch is empty. Every notification was then taken, but not necessarily sent. After an error,
    /// the notifications that are left in the batch were not taken. Without room, the calling task waits; its thread
    /// does not.
    ///
    /// - Throws: ``SubmitError/shutDown`` once the provider was shut down, ``SubmitError/cancelled`` when the calling
    ///   task was cancelled.
    func submit(_ batch: inout PushBatch) async throws(SubmitError)

    /// Takes the notifications for which there is room now, and never waits. The others stay in the batch. After a
    /// shutdown all stay in the batch.
    ///
    /// Any thread, also from within ``OutcomeSink/settled(_:)``. Holds a lock for a few instructions.
    func trySubmit(_ batch: inout PushBatch)

    /// Sends one notification and returns its outcome.
    ///
    /// If the calling task is cancelled before the notification was written, the notification is withdrawn. Its outcome
    /// is then ``Outcome/undelivered(_:)`` with ``Outcome/UndeliveredCause/cancelled``. A later cancellation has no
    /// effect, because a written notification cannot be called back.
    ///
    /// The outcome is only returned here; the sink and the stream do not get it. Each call costs an allocation and two
    /// task switches. For many notifications, submit a batch instead.
    ///
    /// - Throws: ``SubmitError`` when the notification was not taken.
    func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome

    /// The outcomes, if ``OutcomeDelivery/stream`` was asked for; otherwise a stream that has ended. For one consumer.
    var outcomes: OutcomeStream { get }

    /// The number of notifications that have ended so far, by outcome. Any thread; never waits.
    var counts: OutcomeCounts { get }

    /// The trouble with connections, credentials or peer since the peer last accepted or rejected a notification; nil
    /// if there was none. Any thread; never waits. After ``send(_:to:)`` it shows why an outcome is `undelivered` or
    /// `uncertain`. A rejection explains itself; see ``Outcome/explanation``.
    var lastError: ProviderError? { get }

    /// Returns a subscription to the provider's events. It holds at most `bufferingNewest` (at least 1) unread events.
    ///
    /// The subscription begins now: subscribe before submitting. It ends when the provider was shut down.
    func events(bufferingNewest: Int) -> ProviderEvents

    /// Waits until every notification that was taken has its outcome, or until `limit` has passed. The provider stays
    /// usable.
    ///
    /// Notifications that still wait in ``submit(_:)`` for room were not taken and do not count.
    func drain(within limit: Duration) async -> DrainReport

    /// Takes no more notifications, sends those that were taken, and gives each one its outcome within `limit`. At the
    /// limit, an unwritten notification ends as `undelivered(.shutDown)`. A notification that was written and is not
    /// settled ends as `uncertain(.shutDown)`.
    ///
    /// Returns when the connections are closed. May be called more than once; each call returns the report.
    ///
    /// - Parameters:
    ///   - limit: how long the outcomes may take.
    ///   - proof: the way to find out whether the last notifications were accepted.
    func shutDown(within limit: Duration, proof: Proof) async -> DrainReport
}

extension PushProvider {
    /// Shuts the provider down with ``Proof/automatic``: see ``shutDown(within:proof:)``.
    @discardableResult
    public func shutDown(within limit: Duration) async -> DrainReport {
        await self.shutDown(within: limit, proof: .automatic)
    }

    /// Shuts the provider down, and at once when the task is or was cancelled.
    package func shutDownUnlessCancelled(within limit: Duration, proof: Proof) async -> DrainReport {
        await withTaskGroup(of: DrainReport.self) { group in
            group.addTask { await self.shutDown(within: limit, proof: proof) }
            group.addTask {
                // Ends early when the task is cancelled, or when the group ends.
                try? await Task.sleep(for: limit)
                return await self.shutDown(within: .zero, proof: .silence)
            }
            defer { group.cancelAll() }
            for await report in group { return report }
            return await self.shutDown(within: .zero, proof: .silence)
        }
    }
}

/// The way to find out whether the last notifications were accepted. No later notification can prove them.
///
/// A probe is a notification that the peer must reject. Its error response proves everything before it. Over HTTP/2
/// every acceptance is proved anyway.
@nonexhaustive
public enum Proof: Sendable, Hashable {
    /// The peer's silence for the settle time, and then a probe. If the peer does not answer the probe within 10 s,
    /// silence counts as acceptance, and ``DrainReport/unproved`` has the number of these notifications.
    case automatic
    /// The peer's silence alone.
    case silence
    /// A probe alone. Without an answer within 30 s, the notifications end as ``Outcome/uncertain(_:)``.
    case probe
}

/// The result of a drain or a shutdown.
public struct DrainReport: Sendable, Hashable {
    /// The number of outcomes of each kind, over the provider's whole life.
    public var outcomes: OutcomeCounts
    /// The number of notifications without an outcome when the limit passed. 0 after a shutdown.
    public var unsettled: Int
    /// The number of outcomes that turned out wrong, over the provider's whole life.
    public var contradicted: Int
    /// The number of copies beyond the first that were written, over the provider's whole life.
    public var resent: Int
    /// The acceptances that a shutdown should have proved and could not prove; nil if there are none.
    public var unproved: Unproved?

    /// The number of bytes from peers that were ignored, over the provider's whole life. They came after an error
    /// response, which ends a connection, or belong to another protocol.
    public var strayBytes: Int

    /// The last trouble with connections, credentials or peer, over the provider's whole life; nil if there was none.
    public var lastError: ProviderError?

    /// A report of a provider's whole life so far.
    public init(
        outcomes: OutcomeCounts,
        unsettled: Int,
        contradicted: Int,
        resent: Int,
        unproved: Unproved? = nil,
        strayBytes: Int = 0,
        lastError: ProviderError? = nil
    ) {
        self.outcomes = outcomes
        self.unsettled = unsettled
        self.contradicted = contradicted
        self.resent = resent
        self.unproved = unproved
        self.strayBytes = strayBytes
        self.lastError = lastError
    }
}

extension DrainReport: CustomStringConvertible {
    /// The numbers that are not zero, and the last error if something was not delivered or is uncertain: "12 accepted
    /// (10 confirmed, 2 presumed), 1 rejected; 3 unsettled, 4 resent".
    public var description: String {
        let rest = [
            (self.unsettled, "unsettled"), (self.unproved?.count ?? 0, "unproved"),
            (self.contradicted, "contradicted"), (self.resent, "resent"),
            (self.strayBytes, "stray bytes"),
        ]
        let isTroubled = self.outcomes.undelivered + self.outcomes.uncertain + self.unsettled > 0
        let error = isTroubled ? self.lastError.map { "; last error: \($0.message)" } : nil
        return "\(self.outcomes)" + (rest.listed.map { "; \($0)" } ?? "") + (error ?? "")
    }
}

/// Acceptances at the end of a run that rest on silence, although ``Proof/automatic`` asked for proof.
public struct Unproved: Sendable, Hashable {
    /// The number of these acceptances.
    public var count: Int
    /// The reason why the last of them was not proved.
    public var cause: Cause

    /// The reason why no probe proved an acceptance.
    @nonexhaustive
    public enum Cause: Sendable, Hashable {
        /// The peer did not answer the probe in time.
        case noAnswer
        /// The peer closed the connection instead of answering the probe.
        case closed
        /// No probe was written: the peer left an earlier probe unanswered not long ago.
        case notAsked
        /// No probe was written, because the command has no identifiers.
        case noIdentifiers
    }

    /// - Parameters:
    ///   - count: the number of acceptances, at least 1.
    ///   - cause: the reason why the last of them was not proved.
    public init(count: Int, cause: Cause) {
        self.count = count
        self.cause = cause
    }
}

extension Unproved.Cause: CustomStringConvertible {
    /// The cause in words: "the peer did not answer the probe".
    public var description: String {
        switch self {
        case .noAnswer: "the peer did not answer the probe"
        case .closed: "the peer closed the connection instead of answering the probe"
        case .notAsked: "the peer left an earlier probe without an answer"
        case .noIdentifiers: "command 0 has no identifiers, so there are no probes"
        }
    }
}

/// The reason why notifications were not taken.
@nonexhaustive
public enum SubmitError: Error, Hashable, CustomStringConvertible {
    /// The provider was shut down.
    case shutDown
    /// The calling task was cancelled.
    case cancelled

    /// One sentence about what happened.
    public var description: String {
        switch self {
        case .shutDown: "The provider was shut down and takes no more notifications."
        case .cancelled: "The task was cancelled before the provider had room for the notifications."
        }
    }
}
