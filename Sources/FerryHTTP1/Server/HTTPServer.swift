package import FerryOpenSSL
package import FerryServer
package import NIOCore
package import NIOHTTP1

/// A server of HTTP/1.1 for whole requests with whole answers: over TCP or a socket in the file system, with TLS or without.
/// Any thread may use it.
///
/// If the listener has as many connections as it may have, a new one takes the place of another: of the one that has waited
/// longest between two requests, or else for a whole request. While all bodies together have more than 128 MiB, the server
/// closes the connection that has waited longest for the rest of a request. ``Limits`` has the other bounds. The owner bounds
/// the time for an answer. Stop every server: releasing the last reference closes nothing.
package final class HTTPServer: Sendable {
    /// The bounds of one connection.
    package struct Limits: Sendable {
        /// The largest body of a request, in bytes. A larger one is answered with 413.
        package var body: Int
        /// The time from the start of a connection, with its TLS handshake, to the head of the first request. Afterwards
        /// the connection is closed.
        package var opening: Duration = .seconds(30)
        /// The time from the head of a request to its end. Afterwards the answer is 408. Also the time from the last answer
        /// to the close.
        package var request: Duration = .seconds(10)
        /// The time from an answer to the head of the next request, with the time in which the client reads the answer.
        /// Afterwards the connection is closed. A request that came before its client had read the answers waits for that
        /// as long.
        package var pause: Duration = .seconds(30)

        package init(body: Int) { self.body = body }
    }

    /// Makes the answer to a request. `received` is the time at which the last byte of the request came.
    package typealias Respond =
        @Sendable (HTTPServerRequest, _ received: ContinuousClock.Instant) async -> HTTPServerAnswer

    private let listener: Listener

    /// The host of the configuration.
    package var host: String { self.listener.host }
    /// The bound port.
    package var port: Int { self.listener.port }
    /// The event loop of the listener. Connections run on any event loop of the group.
    package var eventLoop: any EventLoop { self.listener.eventLoop }
    /// The counts of the connections so far. Holds a lock for a few instructions.
    package var counts: ConnectionCounts { self.listener.counts }

    /// The open connections. Holds a lock for a few instructions.
    package var openConnections: Int { self.listener.openConnections }

    private init(_ listener: Listener) { self.listener = listener }

    /// Starts to listen and to answer requests.
    ///
    /// - Parameters:
    ///   - configuration: the address, and the limits of the listener. Its `onWait` is the server's own.
    ///   - limits: the bounds of each connection.
    ///   - group: the event loops. They must outlive the server. Nil: the singleton group of SwiftNIO.
    /// - Throws: a socket error when the address cannot be bound.
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

    /// Stops accepting. Each connection ends after the answer to its request, or when `limit` is over.
    package func quiesce(within limit: Duration) async { await self.listener.quiesce(within: limit) }

    /// Closes the listener and all connections, without close_notify.
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

    /// The target without its query: `/path?query`, or `http://host/path?query`, which a server must take, too (RFC 9112,
    /// section 3.2.2).
    package var path: String {
        var target = self.target[...]
        if !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") {
            target = target[scheme.upperBound...].drop { !"/?#".contains($0) }
            guard target.hasPrefix("/") else { return "/" }
        }
        return String(target.prefix { $0 != "?" && $0 != "#" })
    }

    /// The value of a parameter of the query, without decoding; nil if the query does not have it.
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
    /// The headers without `Content-Length` and `Connection`, which the server adds.
    package var headers: HTTPHeaders
    /// The body. An answer to `HEAD` leaves it out.
    package var body: [UInt8]
    /// Whether the connection is reset in the middle of the answer. Only a simulated server misbehaves.
    package var isCut = false

    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
