public import FerryPlatform

/// A refusal of a notification: the reason, the side that refused, and the status.
public struct Rejection: Hashable, Sendable {
    /// The reason.
    public var reason: Reason
    /// The side that refused.
    public var origin: Origin
    /// The number in the peer's answer: a ``BinaryStatus`` (0–255) or an HTTP status (400–599). Nil if no peer
    /// answered.
    public var status: Int?
    /// The time at which APNs confirmed that the token was no longer valid, to the millisecond. Only with HTTP status
    /// 410.
    public var timestamp: Date?
    /// The fault that Ferry found, as a sentence with the limit that was passed. Contains no token and no payload. Only
    /// with ``Origin/ferry``.
    public var details: String?

    /// The side that refused.
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
    public init(
        reason: Reason,
        origin: Origin,
        status: Int? = nil,
        timestamp: Date? = nil,
        details: String? = nil
    ) {
        self.reason = reason
        self.origin = origin
        self.status = status
        self.timestamp = timestamp
        self.details = details
    }

    /// Whether both are the same refusal. Their details are not compared.
    public static func == (left: Rejection, right: Rejection) -> Bool {
        left.reason == right.reason && left.origin == right.origin && left.status == right.status
            && left.timestamp == right.timestamp
    }

    /// Hashes everything but the details.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.reason)
        hasher.combine(self.origin)
        hasher.combine(self.status)
        hasher.combine(self.timestamp)
    }
}
