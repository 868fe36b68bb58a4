/// A recorder of the notifications that a ``SimulatedGateway`` accepts.
public protocol GatewayRecorder: Sendable {
    /// Called for each accepted notification on its connection's event loop, in order. Must not block for long. `token`
    /// and `payload` are valid only during the call.
    func accepted(_ notification: AcceptedNotification, token: Span<UInt8>, payload: Span<UInt8>)

    /// Writes everything that is buffered. Called at least every 200 ms, and when the gateway stops.
    func flush()
}

extension GatewayRecorder {
    /// Does nothing.
    public func flush() {}
}

/// The fields of an accepted notification, without its token and payload.
public struct AcceptedNotification: Hashable, Sendable {
    /// The number of the connection, from 1.
    public var connection: Int
    /// The position among all notifications that were read from that connection, from 1.
    public var place: Int
    /// The command byte: 0, 1 or 2.
    public var command: UInt8
    /// The identifier; nil if the notification has no identifier.
    public var identifier: UInt32?
    /// The expiration in UNIX seconds; nil if the notification has no expiration.
    public var expiration: UInt32?
    /// The priority; nil if the notification has no priority.
    public var priority: UInt8?
}
