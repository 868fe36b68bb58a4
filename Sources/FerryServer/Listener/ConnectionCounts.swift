/// The counts of a ``Listener``'s connections since it was bound.
package struct ConnectionCounts: Hashable, Sendable {
    /// Connections that were accepted. A held connection (``AcceptGate``) counts only when it is served.
    package var connections = 0
    /// Connections whose TLS handshake succeeded.
    package var handshakes = 0
    /// Connections with TLS that failed before their handshake ended.
    package var handshakeFailures = 0
    /// The number of times that a held connection waited because the limit ``ServerLimits/connections`` was reached.
    /// Connections in the system's queue are not counted.
    package var waits = 0

    package init() {}
}
