package import FerryOpenSSL

/// What a listener and its connections may take. Each value is a bound; none is switched off.
package struct ServerLimits: Hashable, Sendable {
    /// Connections at a time, at least 1. While so many are open, new ones wait in the system's queue.
    ///
    /// ``DescriptorLimit`` lowers it to what the process may open.
    package var connections = 16_384
    /// Connections that the system holds until they are accepted. Linux lowers it to `net.core.somaxconn`.
    package var queue = 256
    /// From the moment that a connection is accepted to the end of its TLS handshake.
    package var handshake: Duration = .seconds(10)
    /// From the closing of a connection to the peer's close_notify.
    package var closing: Duration = .seconds(5)

    package init() {}

    /// The same limits for the TLS of one connection.
    package var tls: TLSHandler.Limits {
        var limits = TLSHandler.Limits()
        limits.handshake = self.handshake
        limits.shutdown = self.closing
        return limits
    }
}
