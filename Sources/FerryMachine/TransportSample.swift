/// What the operating system says about a connection at one time.
package struct TransportSample: Sendable {
    /// Bytes of the stream below TLS that the peer has acknowledged; nil when the system does not say.
    package var acknowledged: UInt64?
    /// Bytes of that stream that the system has taken so far.
    package var handed: UInt64
    /// Whether the system holds bytes that were not read yet, or the end of the stream. They speak first.
    package var hasUnread: Bool
    package var isWritable: Bool

    package init(acknowledged: UInt64?, handed: UInt64, hasUnread: Bool, isWritable: Bool) {
        self.acknowledged = acknowledged
        self.handed = handed
        self.hasUnread = hasUnread
        self.isWritable = isWritable
    }
}
