package import FerryOpenSSL

extension Listener {
    /// Where a listener listens, and what holds for each of its connections.
    package struct Configuration: Sendable {
        /// The address to bind: a name or an address. Of a name, the first address that it has.
        package var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        package var port = 0
        /// The server's side of TLS; nil: connections are not encrypted.
        package var tls: TLSContext?
        /// What the connections may take.
        package var limits = ServerLimits()
        /// In bytes: how much of a connection that is not read may wait in the system, and be read at once. Nil: as much
        /// as the system likes.
        package var receiveBuffer: Int?
        /// How fast each connection is read, TLS included; nil: as fast as it comes.
        package var bytesPerSecond: Int?

        /// Any port of the loopback address, without TLS.
        package init() {}
    }
}
