package import FerryOpenSSL

extension Listener {
    /// The address of a listener, and the settings of its connections.
    package struct Configuration: Sendable {
        /// The host to bind, as a name or an address. If a name has several addresses, the first address is used.
        package var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        package var port = 0
        /// The path of a socket in the file system (AF_UNIX) in place of host and port. A file with this name is
        /// replaced. Only the owner can use the socket.
        package var socketPath: String?
        /// A socket that listens already, in place of an address. The listener takes over its descriptor.
        package var passed: PassedSocket?
        /// The TLS context of the server side; nil for connections without encryption.
        package var tls: TLSContext?
        /// The addresses whose connections begin with the header of a proxy.
        package var proxies = TrustedProxies()
        /// Whether the listener accepts nothing before ``Listener/begin()``. Connections wait in the system's queue.
        package var isPaused = false
        /// The limits of the listener and its connections.
        package var limits = ServerLimits()
        /// The system's receive buffer of each connection, in bytes; nil if the system decides. Without
        /// ``bytesPerSecond``, this size is also the largest read.
        package var receiveBuffer: Int?
        /// The speed at which each connection is read, in bytes per second including TLS; nil for no limit.
        package var bytesPerSecond: Int?

        /// A function that gets true when a connection waits because the limit is reached, so that a program may
        /// close another connection. The function gets false when the waiting connection is served or has gone. It
        /// runs on the listener's event loop.
        package var onWait: @Sendable (_ waits: Bool) -> Void = { _ in }

        /// Creates a configuration for any port of the loopback address, without TLS.
        package init() {}
    }
}
