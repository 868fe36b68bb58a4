/// The counts of a ``Listener``'s connections since it was bound.
package struct ConnectionCounts: Hashable, Sendable {
    /// Connections that were accepted.
    package var connections = 0
    /// Connections whose TLS handshake succeeded.
    package var handshakes = 0
    /// Connections that failed before their TLS handshake ended.
    package var handshakeFailures = 0
    /// The number of times that a connection waited because ``ServerLimits/connections`` were open. Connections behind
    /// it in the system's queue are not counted.
    package var waits = 0

    package init() {}
}
