internal import FerryCore
internal import NIOCore

/// The interface of a driver without the type of its machine.
protocol ProviderLoop: AnyObject, Sendable {
    var eventLoop: any EventLoop { get }
    /// The number of the loop among those of the provider.
    var index: Int { get }

    // MARK: Any thread

    /// Whether the driver has nothing more to do. Its event loop may be gone.
    var hasEnded: Bool { get }
    /// Makes the loop collect the notifications that callers handed over.
    func wake()

    // MARK: The event loop

    func drain(within limit: TimeAmount, call: UInt64)
    func shutDown(within limit: TimeAmount, proof: Proof, call: UInt64)
    func abandon(undelivered: Outcome.UndeliveredCause, uncertain: Outcome.UncertainCause)
}
