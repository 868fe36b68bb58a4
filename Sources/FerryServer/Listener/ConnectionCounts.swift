/// The counts of a ``Listener``'s connections since it was bound.
package struct ConnectionCounts: Hashable, Sendable {
    /// Connections that were accepted.
    package var connections = 0
    /// Connections whose TLS handshake succeeded.
    package var handshakes = 0
    /// Connections that failed before their TLS handshake ended.
    package var handshakeFailures = 0
    /// How often the listener stopped accepting because ``ServerLimits/connections`` were open.
    package var waits = 0

    package init() {}
}
