/// A way to APNs: over the binary protocol, over HTTP/2, or from one to the other.
///
/// What holds for every provider:
/// * A notification that was taken ends in exactly one ``Outcome``, whatever happens.
/// * Methods may be called on any thread. Work happens on event loops that the provider was given and does not own.
/// * Order is kept for each device as far as the wire allows; between devices there is none.
public protocol PushProvider: AnyObject, Sendable {
    /// Takes the notifications of `batch` from its front, as room appears.
    ///
    /// Returns when the batch is empty: everything was taken, nothing needs to have been sent. What is left in the batch
    /// when this throws was not taken. While there is no room the calling task waits; its thread does not.
    ///
    /// - Throws: ``SubmitError/shutDown`` once the provider was shut down, ``SubmitError/cancelled`` when the calling
    ///   task was cancelled.
    func submit(_ batch: inout PushBatch) async throws(SubmitError)

    /// Takes what fits at once and never waits; the rest stays in the batch, as does everything after a shutdown.
    ///
    /// Any thread, also from within ``OutcomeSink/settled(_:)``. Holds a lock for a few instructions.
    func trySubmit(_ batch: inout PushBatch)

    /// Sends one notification and returns its outcome.
    ///
    /// When the calling task is cancelled before the notification was written, it is withdrawn and the outcome is
    /// ``Outcome/undelivered(_:)`` with ``Outcome/UndeliveredCause/cancelled``; afterwards cancellation has no effect,
    /// because what was written cannot be called back.
    ///
    /// Its outcome comes only here, never to the sink or the stream. Costs an allocation and two task switches for each
    /// notification: whoever has many submits a batch.
    ///
    /// - Throws: ``SubmitError`` when the notification was not taken.
    func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome

    /// The outcomes, where ``OutcomeDelivery/stream`` was asked for; else a stream that has ended. For one consumer.
    var outcomes: OutcomeStream { get }

    /// How many of the notifications that were taken have ended how, so far. Any thread; never waits.
    var counts: OutcomeCounts { get }

    /// A new subscription to the provider's events, holding at most `bufferingNewest` unread ones, at least 1.
    ///
    /// It begins now: subscribe before submitting. It ends when the provider was shut down.
    func events(bufferingNewest: Int) -> ProviderEvents

    /// Waits until everything that was taken has its outcome, or `limit` has passed. The provider stays usable.
    ///
    /// What still waits in ``submit(_:)`` for room was not taken and does not count.
    func drain(within limit: Duration) async -> DrainReport

    /// Takes nothing more, sends what was taken, and gives every notification its outcome within `limit`: what is not
    /// written by then is `undelivered(.shutDown)`, what is written but not settled `uncertain(.shutDown)`.
    ///
    /// Returns once the connections are closed. May be called more than once; each call gets the report.
    ///
    /// - Parameter proof: how the acceptance of the last notifications is found out.
    func shutdown(within limit: Duration, proof: Proof) async -> DrainReport
}

/// How the acceptance of the last notifications is found out, which have nothing behind them that could prove them.
///
/// A probe is a notification that the peer must reject: its error response proves everything before it. On HTTP/2 every
/// acceptance is proved anyway.
@nonexhaustive
public enum Proof: Sendable, Hashable {
    /// By the peer's silence for the settle time, and then by a probe. If the peer does not answer the probe within 10 s,
    /// silence counts, and ``DrainReport/unproved`` says for how many.
    case automatic
    /// By the peer's silence alone.
    case silence
    /// By a probe alone: without an answer within 30 s the notifications end as ``Outcome/uncertain(_:)``.
    case probe
}

/// What a drain or a shutdown left behind.
public struct DrainReport: Sendable, Hashable {
    /// The outcomes that the provider has given in its whole life.
    public var outcomes: OutcomeCounts
    /// How many notifications had no outcome when the limit passed. 0 after a shutdown.
    public var unsettled: Int
    /// How many outcomes of its whole life turned out wrong.
    public var contradicted: Int
    /// How many copies beyond the first were written in its whole life.
    public var resent: Int
    /// The acceptances that a shutdown was to prove and could not; nil when there are none.
    public var unproved: Unproved?

    /// How many bytes of peers were ignored in its whole life: behind an error response, which is a peer's last word on a
    /// connection, or of another protocol.
    public var strayBytes: Int

    /// A report of a provider's whole life so far.
    public init(
        outcomes: OutcomeCounts,
        unsettled: Int,
        contradicted: Int,
        resent: Int,
        unproved: Unproved? = nil,
        strayBytes: Int = 0
    ) {
        self.outcomes = outcomes
        self.unsettled = unsettled
        self.contradicted = contradicted
        self.resent = resent
        self.unproved = unproved
        self.strayBytes = strayBytes
    }
}

extension DrainReport: CustomStringConvertible {
    /// What is not zero: "12 accepted (10 confirmed, 2 presumed), 1 rejected; 3 unsettled, 4 resent".
    public var description: String {
        let rest = [
            (self.unsettled, "unsettled"), (self.unproved?.count ?? 0, "unproved"),
            (self.contradicted, "contradicted"), (self.resent, "resent"),
            (self.strayBytes, "stray bytes"),
        ]
        return "\(self.outcomes)" + (rest.listed.map { "; \($0)" } ?? "")
    }
}

/// Acceptances at the end of a run that rest on silence, although ``Proof/automatic`` asked for proof.
public struct Unproved: Sendable, Hashable {
    /// How many.
    public var count: Int
    /// Why the last of them could not be proved.
    public var cause: Cause

    /// Why a probe proved nothing.
    @nonexhaustive
    public enum Cause: Sendable, Hashable {
        /// The peer did not answer the probe in time.
        case noAnswer
        /// The peer closed the connection instead of answering the probe.
        case closed
        /// No probe was written: the peer left one without an answer not long ago.
        case notAsked
        /// No probe was written: the command has no identifiers.
        case noIdentifiers
    }

    /// - Parameter count: at least 1.
    public init(count: Int, cause: Cause) {
        self.count = count
        self.cause = cause
    }
}

extension Unproved.Cause: CustomStringConvertible {
    /// "the peer did not answer the probe".
    public var description: String {
        switch self {
        case .noAnswer: "the peer did not answer the probe"
        case .closed: "the peer closed the connection instead of answering the probe"
        case .notAsked: "the peer left an earlier probe without an answer"
        case .noIdentifiers: "command 0 has no identifiers, so there are no probes"
        }
    }
}

/// Why notifications were not taken.
@nonexhaustive
public enum SubmitError: Error, Hashable, CustomStringConvertible {
    /// The provider was shut down.
    case shutDown
    /// The calling task was cancelled.
    case cancelled

    /// What happened, in one sentence.
    public var description: String {
        switch self {
        case .shutDown: "The provider was shut down and takes no more notifications."
        case .cancelled: "The task was cancelled before the provider had room for the notifications."
        }
    }
}
