internal import FerryCore
package import FerryOpenSSL
package import FerryProxy
package import NIOCore
internal import NIOPosix

/// A client of HTTP/1.1 for single requests with a whole answer. Any thread may use it.
///
/// The client follows no redirect, keeps no cookie and asks for no compression. Connections are kept for a while and
/// used again.
package final class HTTPClient: Sendable {
    package struct Configuration: Sendable {
        /// The authorities that may sign the certificates of servers.
        package var trustRoots = TrustRoots.system
        /// The largest number of connections to one origin that wait for their next request.
        package var idleConnections = 4
        /// The time for which a connection waits for its next request.
        package var idleTime: Duration = .seconds(30)
        /// The proxy for all connections over TCP. Nil: no proxy.
        package var proxy: HTTPProxy?
        /// The event loops of connections. They must outlive the client. Nil: the singleton group of SwiftNIO.
        package var group: (any EventLoopGroup)?

        package init() {}
    }

    /// The context of requests with TLS, or the error with which they fail. Without the system's authorities,
    /// requests without TLS still work.
    private let context: Result<TLSContext, TLSError>
    private let pool: HTTPConnectionPool
    private let group: any EventLoopGroup
    private let proxy: HTTPProxy?

    /// - Throws: ``TLSError`` when the trust roots cannot be read. If the roots are the system's, ``checkTLS()`` throws
    ///   the error instead, and requests with TLS fail with an ``HTTPClientError``.
    package init(_ configuration: Configuration = Configuration()) throws(TLSError) {
        self.context = Result { () throws(TLSError) in
            try TLSContext(client: .init(trustRoots: configuration.trustRoots))
        }
        if configuration.trustRoots != .system { _ = try self.context.get() }
        self.pool = HTTPConnectionPool(limit: configuration.idleConnections, time: configuration.idleTime)
        self.proxy = configuration.proxy
        self.group = configuration.group ?? MultiThreadedEventLoopGroup.singleton
    }

    deinit { self.pool.close() }

    /// - Throws: ``TLSError`` when `https` cannot be used.
    package func checkTLS() throws(TLSError) { _ = try self.context.get() }

    /// Closes the idle connections. From then on, no connection is kept after its request. Requests under way go on.
    package func close() { self.pool.close() }

    /// Closes the idle connections. Connections in use are still kept after their requests.
    package func closeIdle() { self.pool.closeIdle() }

    /// Sends a request, and returns its answer, whatever the status is.
    ///
    /// - Parameters:
    ///   - limit: the time to resolve the name, to connect with TLS, and to get the answer to its last byte.
    ///   - connecting: the time to resolve the name and to connect; `limit` then begins after both steps. If the
    ///     request is repeated over a new connection, both times begin again. Nil: `limit` covers everything.
    package func send(
        _ request: HTTPClientRequest,
        within limit: Duration,
        connecting: Duration? = nil
    ) async throws(HTTPClientError) -> HTTPClientResponse {
        let limits = HTTPCall.Limits(whole: TimeAmount(limit), connecting: connecting.map { TimeAmount($0) })
        let idle = self.pool.take(request.url.origin)
        let eventLoop = idle?.eventLoop ?? self.group.next()
        let call = HTTPCall(request, limits, on: eventLoop, pool: self.pool, context: self.context, proxy: self.proxy)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                eventLoop.execute { call.start(idle) { continuation.resume(returning: $0) } }
            }
        } onCancel: {
            eventLoop.execute { call.cancel() }
        }
        return try result.get()
    }
}
