package import FerryOpenSSL

extension Listener {
    /// The address of a listener, and the settings of its connections.
    package struct Configuration: Sendable {
        /// The host to bind: a name or an address. A name stands for its first address.
        package var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        package var port = 0
        /// The path of a socket in the file system (AF_UNIX) in place of host and port. A file of that name is replaced; the
        /// socket is for its owner alone.
        package var socketPath: String?
        /// The TLS context of the server side; nil: connections are not encrypted.
        package var tls: TLSContext?
        /// The limits of the listener and its connections.
        package var limits = ServerLimits()
        /// The system's receive buffer of each connection, and the largest read, in bytes. Nil: the system decides.
        package var receiveBuffer: Int?
        /// How fast each connection is read, in bytes per second including TLS; nil: as fast as bytes arrive.
        package var bytesPerSecond: Int?

        /// Called with true when a connection waits because all that may be open are open: a program may close one of them.
        /// Called with false when it waits no more: it has a place, or has gone. Runs on the listener's event loop.
        package var onWait: @Sendable (_ waits: Bool) -> Void = { _ in }

        /// Creates a configuration for any port of the loopback address, without TLS.
        package init() {}
    }
}
