package import FerryOpenSSL
package import FerryServer
package import NIOCore
package import NIOHTTP1

/// A server of HTTP/1.1 for whole requests with whole answers: over TCP or a socket in the file system, with TLS or without.
/// Any thread.
///
/// A further connection than the listener may have takes the place of the one that has waited longest between two requests,
/// or else for a whole request. While all bodies together have more than 128 MiB, the server closes the connection that has
/// waited longest for the rest of a request. ``Limits`` has the other bounds. The owner bounds the time for an answer. Stop
/// every server: releasing the last reference closes nothing.
package final class HTTPServer: Sendable {
    /// The bounds of one connection.
    package struct Limits: Sendable {
        /// The bytes of a body; beyond them 413.
        package var body: Int
        /// From the start of the connection, with its TLS handshake, to the head of the first request; then it is closed.
        package var opening: Duration = .seconds(30)
        /// From the head of a request to its end, then 408; and from a last answer to the close.
        package var request: Duration = .seconds(10)
        /// From an answer, with the time that the client takes to read it, to the head of the next request; then the
        /// connection is closed. A request that came before its client had read the answers waits so long for that.
        package var pause: Duration = .seconds(30)

        package init(body: Int) { self.body = body }
    }

    /// Makes the answer to a request. `received`: when its last byte came.
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

    /// Starts listening. Requests are answered from now on.
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

    /// Gives the next connections another TLS context. Only for a server that was started with TLS.
    package func use(_ tls: TLSContext) { self.listener.use(tls) }

    /// Stops accepting. Each connection ends after the answer to its request, or when `limit` is over.
    package func quiesce(within limit: Duration) async { await self.listener.quiesce(within: limit) }

    /// Closes the listener and all connections, without close_notify.
    package func stop(within limit: Duration) async { await self.listener.stop(within: limit) }
}

/// A request that has come whole.
package struct HTTPServerRequest: Sendable {
    /// In capital letters: `POST`.
    package var method: String
    /// Path and query as they came.
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

    /// The value of a parameter of the query as it came, without decoding.
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
    /// Without `Content-Length` and `Connection`, which the server adds.
    package var headers: HTTPHeaders
    /// Not sent in answer to `HEAD`.
    package var body: [UInt8]
    /// Whether the connection is reset in the middle of the answer. Only a simulated server misbehaves.
    package var isCut = false

    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
