internal import NIOCore

extension NIODeadline {
    /// - Parameter time: since the moment that NIO's clock counts from.
    init(_ time: Duration) {
        self = .uptimeNanoseconds(0) + TimeAmount(time)
    }
}

extension Duration {
    /// From the moment that NIO's clock counts from.
    init(_ deadline: NIODeadline) {
        self.init(deadline - .uptimeNanoseconds(0))
    }
}
