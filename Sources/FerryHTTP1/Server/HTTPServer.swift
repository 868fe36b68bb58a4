package import FerryOpenSSL
package import FerryServer
package import NIOCore
package import NIOHTTP1

/// A server of HTTP/1.1 for whole requests with whole answers: over TCP or a socket in the file system, with TLS or
/// without. Any thread may use the server.
///
/// If the listener has its largest number of connections and a new connection comes, the server closes the connection
/// that has waited longest between two requests. If no connection is between two requests, the server closes the
/// connection that has waited longest for its client. While all bodies together have more than 128 MiB, each new part
/// of a body closes the connection that has waited longest, except for connections between two requests. ``Limits`` has
/// the bounds of one connection. `respond` must bound the time for an answer. Stop every server: releasing the last
/// reference closes nothing.
package final class HTTPServer: Sendable {
    /// The bounds of one connection.
    package struct Limits: Sendable {
        /// The largest body of a request, in bytes. A request with a larger body gets the answer 413.
        package var body: Int
        /// The time from the start of a connection, with its TLS handshake, to the head of the first request.
        /// Afterwards the connection is closed.
        package var opening: Duration = .seconds(30)
        /// The time from the head of a request to the request's end. Afterwards the answer is 408. Also the time from
        /// the last answer of a connection to its close.
        package var request: Duration = .seconds(10)
        /// The time from an answer to the head of the next request. It includes the time in which the client reads
        /// the answer. Afterwards the connection is closed. A request may come before its client has read the earlier
        /// answers. The request then waits at most this time for the client to read them.
        package var pause: Duration = .seconds(30)

        package init(body: Int) { self.body = body }
    }

    /// Makes the answer to a request. `received` is the time of the call. The request may have come earlier, and waited
    /// for the answers to earlier requests of its connection.
    package typealias Respond =
        @Sendable (HTTPServerRequest, _ received: ContinuousClock.Instant) async -> HTTPServerAnswer

    private let listener: Listener

    /// The host of the configuration, or of the passed socket.
    package var host: String { self.listener.host }
    /// The bound port; 0 for a socket in the file system.
    package var port: Int { self.listener.port }
    /// The event loop of the listener. Connections run on any event loop of the group.
    package var eventLoop: any EventLoop { self.listener.eventLoop }
    /// The counts of the connections so far. Holds a lock for a few instructions.
    package var counts: ConnectionCounts { self.listener.counts }

    /// The number of open connections. Holds a lock for a few instructions.
    package var openConnections: Int { self.listener.openConnections }

    private init(_ listener: Listener) { self.listener = listener }

    /// Starts to listen and to answer requests.
    ///
    /// - Parameters:
    ///   - configuration: the address, and the limits of the listener. The server replaces its `onWait`.
    ///   - limits: the bounds of each connection.
    ///   - group: the event loops. They must outlive the server. Nil: the singleton group of SwiftNIO.
    ///   - respond: makes the answers. The server does not bound its time.
    /// - Throws: a socket error when the address cannot be bound, or the passed socket cannot be used.
    package static func start(
        _ configuration: Listener.Configuration,
        limits: Limits,
        on group: (any EventLoopGroup)? = nil,
        respond: @escaping Respond
    ) async throws -> HTTPServer {
        var configuration = configuration
        let waiting = WaitingConnections()
        configuration.onWait = { if $0 { waiting.closeLongest() } else { waiting.placeIsTaken() } }
        return HTTPServer(
            try await Listener.bind(configuration, on: group) { connection in
                HTTPServerHandler(limits, waiting: waiting, socket: connection.socket, respond: respond)
            }
        )
    }

    /// Gives later connections another TLS context. Call it only for a server that was started with TLS.
    package func use(_ tls: TLSContext) { self.listener.use(tls) }

    /// Stops accepting. A connection with a request ends after the answer. A connection without a request ends at once.
    /// Connections that are still open after `limit` are closed without close_notify.
    package func quiesce(within limit: Duration) async { await self.listener.quiesce(within: limit) }

    /// Closes the listener and all connections, without close_notify. Waits at most `limit` for the sockets to close.
    package func stop(within limit: Duration) async { await self.listener.stop(within: limit) }
}

/// A request that has arrived whole.
package struct HTTPServerRequest: Sendable {
    /// The method in capital letters, such as `POST`.
    package var method: String
    /// The path and the query as the client wrote them.
    package var target: String
    package var headers: HTTPHeaders = [:]
    package var body: [UInt8]

    /// The path in the target, without the query. The target is `/path?query`, or `http://host/path?query`, which a
    /// server must take, too (RFC 9112, section 3.2.2).
    package var path: String {
        var target = self.target[...]
        if !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") {
            target = target[scheme.upperBound...].drop { !"/?#".contains($0) }
            guard target.hasPrefix("/") else { return "/" }
        }
        return String(target.prefix { $0 != "?" && $0 != "#" })
    }

    /// The value of a parameter of the query, without decoding; nil if the query has no `name=`.
    package func parameter(_ name: String) -> Substring? {
        guard let mark = self.target.firstIndex(of: "?") else { return nil }
        return self.target[mark...].dropFirst().split(separator: "&").lazy
            .map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
            .first { $0.count == 2 && $0[0] == name }?[1]
    }
}

/// A whole answer.
package struct HTTPServerAnswer: Sendable {
    package var status: Int
    /// The headers without `Content-Length` and `Connection`. The server sets these two.
    package var headers: HTTPHeaders
    /// The body. The server does not send the body of an answer to `HEAD`.
    package var body: [UInt8]
    /// Whether the connection is reset after half of the body. Only a simulated server sets this property.
    package var isCut = false

    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
