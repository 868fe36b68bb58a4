/// Takes what a ``SimulatedGateway`` accepts.
public protocol GatewayRecorder: Sendable {
    /// Called for each accepted notification on its connection's event loop, in order; it must not block for long.
    /// `token` and `payload` are valid only during the call.
    func accepted(_ notification: AcceptedNotification, token: Span<UInt8>, payload: Span<UInt8>)

    /// Called at least every 200 ms and when the gateway stops: what is buffered shall get out.
    func flush()
}

extension GatewayRecorder {
    /// Does nothing.
    public func flush() {}
}

/// What a notification that was accepted said, except for its token and payload.
public struct AcceptedNotification: Hashable, Sendable {
    /// The number of its connection, from 1.
    public var connection: Int
    /// Its place among all notifications read from that connection, from 1.
    public var place: Int
    /// The command byte: 0, 1 or 2.
    public var command: UInt8
    /// As on the wire; nil where it said none.
    public var identifier: UInt32?
    /// UNIX seconds; nil where it said none.
    public var expiration: UInt32?
    /// As on the wire; nil where it said none.
    public var priority: UInt8?
}
