/// Why, by whom and with which status a notification was refused.
public struct Rejection: Hashable, Sendable {
    /// Why.
    public var reason: Reason
    /// By whom.
    public var origin: Origin
    /// The number on the wire: a ``BinaryStatus`` (0–255) or an HTTP status (400–599). Nil when no
    /// peer spoke.
    public var status: Int?
    /// When APNs last knew the token to be good, in milliseconds since the UNIX epoch. Only with HTTP status 410.
    public var timestamp: Int64?

    /// Who refused.
    @nonexhaustive
    public enum Origin: UInt8, Hashable, Sendable {
        /// A gateway of the binary protocol.
        case gateway
        /// APNs over HTTP/2.
        case apns
        /// Ferry, before anything was sent.
        case ferry
        /// Ferry, from the way connections ended: the peer named no notification, but only this one can be meant.
        case inferred
    }

    /// A refusal.
    public init(reason: Reason, origin: Origin, status: Int? = nil, timestamp: Int64? = nil) {
        self.reason = reason
        self.origin = origin
        self.status = status
        self.timestamp = timestamp
    }
}
