internal import NIOCore

extension NIODeadline {
    /// - Parameter time: the time since the epoch of NIO's clock.
    init(_ time: Duration) {
        self = .uptimeNanoseconds(0) + TimeAmount(time)
    }
}

extension Duration {
    /// Creates the time since the epoch of NIO's clock.
    init(_ deadline: NIODeadline) {
        self.init(deadline - .uptimeNanoseconds(0))
    }
}
