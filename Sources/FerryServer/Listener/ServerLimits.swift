package import FerryOpenSSL

/// The limits of a listener and its connections. No limit can be turned off.
package struct ServerLimits: Hashable, Sendable {
    /// The largest number of served connections, at least 1. Beyond this number, one connection is accepted and held
    /// unread. Later connections wait in the system's queue.
    ///
    /// ``DescriptorLimit`` lowers this number if the process may open fewer files and sockets.
    package var connections = 16_384
    /// The length of the system's queue of connections that are not yet accepted. Linux lowers the length to
    /// `net.core.somaxconn`. A ``PassedSocket`` gets the longest queue instead.
    package var queue = 256
    /// The time from accepting a proxy's connection to the end of its header. A proxy sends the header at once; a lost
    /// packet costs a second or two.
    package var proxyHeader: Duration = .seconds(5)
    /// The time from accepting a connection to the end of its TLS handshake. Behind a proxy, the time begins after
    /// the header.
    package var handshake: Duration = .seconds(10)
    /// The time from closing a connection to the peer's close_notify.
    package var closing: Duration = .seconds(5)

    package init() {}

    /// The time limits, for the TLS of one connection.
    package var tls: TLSHandler.Limits {
        var limits = TLSHandler.Limits()
        limits.handshake = self.handshake
        limits.shutdown = self.closing
        return limits
    }
}
