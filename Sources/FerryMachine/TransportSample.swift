/// The state of a connection at one time, as the operating system reports it.
package struct TransportSample: Sendable {
    /// The bytes of the stream below TLS that the peer has acknowledged; nil if the system does not report them.
    package var acknowledged: UInt64?
    /// The bytes of that stream that the system has taken so far.
    package var handed: UInt64
    /// Whether the system holds unread bytes, or an unread end of the stream. Read them before judging the peer's
    /// silence.
    package var hasUnread: Bool
    package var isWritable: Bool

    package init(acknowledged: UInt64?, handed: UInt64, hasUnread: Bool, isWritable: Bool) {
        self.acknowledged = acknowledged
        self.handed = handed
        self.hasUnread = hasUnread
        self.isWritable = isWritable
    }
}
