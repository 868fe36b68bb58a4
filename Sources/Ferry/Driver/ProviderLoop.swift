internal import FerryCore
internal import NIOCore

/// A driver as callers on any thread see it: without its machine.
protocol ProviderLoop: AnyObject, Sendable {
    var eventLoop: any EventLoop { get }

    // MARK: Any thread

    var queue: SubmissionQueue { get }
    var awaited: AwaitedOutcomes { get }
    var calls: ReportCalls { get }
    var events: EventHub { get }
    /// Nil where outcomes go elsewhere.
    var stream: OutcomeBuffer? { get }
    /// The outcomes that were given so far.
    var counts: OutcomeCounts { get }
    /// Has the loop look for what was handed over.
    func wake()

    // MARK: The event loop

    func drain(within limit: TimeAmount, call: UInt64)
    func shutDown(within limit: TimeAmount, proof: Proof, call: UInt64)
    func abandon(undelivered: Outcome.UndeliveredCause, uncertain: Outcome.UncertainCause)
}
