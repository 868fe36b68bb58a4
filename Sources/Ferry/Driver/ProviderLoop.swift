internal import FerryCore
internal import NIOCore

/// The interface of a driver without the type of its machine.
protocol ProviderLoop: AnyObject, Sendable {
    var eventLoop: any EventLoop { get }

    // MARK: Any thread

    var queue: SubmissionQueue { get }
    var awaited: AwaitedOutcomes { get }
    var calls: ReportCalls { get }
    var events: EventHub { get }
    /// The buffer of the outcome stream. Nil if outcomes go elsewhere.
    var stream: OutcomeBuffer? { get }
    /// The number of outcomes of each kind so far.
    var counts: OutcomeCounts { get }
    /// The last trouble with connections, credentials or peer. Nil if there was none.
    var trouble: ProviderError? { get }
    /// Makes the loop collect the notifications that callers handed over.
    func wake()

    // MARK: The event loop

    func drain(within limit: TimeAmount, call: UInt64)
    func shutDown(within limit: TimeAmount, proof: Proof, call: UInt64)
    func abandon(undelivered: Outcome.UndeliveredCause, uncertain: Outcome.UncertainCause)
}
