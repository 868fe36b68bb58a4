internal import FerryCore
internal import FerryHTTP1
package import FerryOpenSSL
internal import FerryPlatform
internal import FerryServer
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The admin service of a process: HTTP/1.1 over a socket in the file system, and over a port if one is configured.
///
/// It runs on its own event loop, so that slow or hostile connections delay nothing else. The socket and the port have
/// at most ``connectionLimit`` connections each. One connection more closes the connection that is idle longest between
/// two requests. If no connection is idle, the connection is closed that has waited longest for its client.
///
/// Stop every server: releasing the last reference closes nothing.
package final class AdminServer: Sendable {
    package struct Configuration: Sendable {
        /// The path of the socket in the file system, which only its owner can use; nil for no socket.
        package var socketPath: String?
        /// The port; nil for no port.
        package var port: Port?

        package init(socketPath: String? = nil, port: Port? = nil) {
            self.socketPath = socketPath
            self.port = port
        }
    }

    package struct Port: Sendable {
        package var host: String
        /// The number of the port; 0 for any free one.
        package var number: Int
        /// The TLS settings; nil for no encryption.
        package var tls: TLSContext?
        /// The token that each request must have; nil if everyone may read.
        package var token: [UInt8]?

        package init(host: String, number: Int, tls: TLSContext? = nil, token: [UInt8]? = nil) {
            self.host = host
            self.number = number
            self.tls = tls
            self.token = token
        }
    }

    package static let connectionLimit = 64
    /// The largest body of a request, in bytes. The longest request names 500 dead letters, with 37 bytes for each.
    private static let bodyLimit = 65_536

    /// The longest time that a stop waits for answers that are being made. It is a little longer than
    /// ``StatusRoutes/patience``, a reader's wait for a snapshot. Before the stop, the owner gives up slower work, such
    /// as a copy of a store.
    private static let answerLimit: Duration = .seconds(3)

    /// The number of answers that are being made. Any thread may use it.
    private final class Running: Sendable {
        private let state = Locked(0)

        var count: Int { self.state.withLock { $0 } }

        func add(_ difference: Int) { self.state.withLock { $0 += difference } }
    }

    /// The server of a port, and the access rule of the port. A reload may change the rule.
    fileprivate final class Open: Sendable {
        let port: Port
        let server: HTTPServer
        let access: Access

        init(_ port: Port, _ server: HTTPServer, _ access: Access) {
            self.port = port
            self.server = server
            self.access = access
        }
    }

    fileprivate final class Access: Sendable {
        let rule: Locked<AdminAccess>

        init(_ rule: AdminAccess) { self.rule = Locked(rule) }
    }

    /// A change of the port that can no longer fail.
    package struct PortSwitch: Sendable {
        fileprivate enum Change: Sendable {
            /// The address stays, and so does whether it has TLS. The token or the certificate may be another.
            case keep(Port)
            /// The server of another address, or of the same address with TLS switched on or off; nil for no port.
            case replace(Open?)
        }

        fileprivate let change: Change
    }

    private let group: MultiThreadedEventLoopGroup
    /// The server of the socket in the file system.
    private let local: HTTPServer?
    private let open: Locked<Open?>
    private let running: Running
    /// The function that makes an answer, and counts it in ``running`` meanwhile.
    private let answer: @Sendable (AdminRequest) async -> AdminAnswer
    /// The bound port; nil without a port.
    package var port: Int? { self.open.withLock { $0?.server.port } }

    private init(
        _ group: MultiThreadedEventLoopGroup,
        _ local: HTTPServer?,
        _ open: Open?,
        _ running: Running,
        _ answer: @escaping @Sendable (AdminRequest) async -> AdminAnswer
    ) {
        self.group = group
        self.local = local
        self.open = Locked(open)
        self.running = running
        self.answer = answer
    }

    /// Starts the service.
    ///
    /// - Parameter answer: makes the answer to a request that was let in. It must bound its own time, because each answer
    ///   that is being made keeps one of ``connectionLimit`` connections.
    /// - Throws: a socket error when the path or the port cannot be bound.
    package static func start(
        _ configuration: Configuration,
        answer: @escaping @Sendable (AdminRequest) async -> AdminAnswer
    ) async throws -> AdminServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let running = Running()
        let counted: @Sendable (AdminRequest) async -> AdminAnswer = { request in
            running.add(1)
            defer { running.add(-1) }
            return await answer(request)
        }
        var local: HTTPServer?
        var open: Open?
        do {
            if let path = configuration.socketPath {
                var listening = Listener.Configuration()
                listening.socketPath = path
                let access = Access(AdminAccess(names: [], token: nil))
                local = try await Self.serve(listening, .socket, access, on: group, counted)
            }
            if let port = configuration.port { open = try await Self.serve(port, on: group, counted) }
        } catch {
            await local?.stop(within: .seconds(1))
            try? await group.shutdownGracefully()
            throw error
        }
        return AdminServer(group, local, open, running, counted)
    }

    /// Returns the rule of a port. Other machines scrape this machine under its own name, so the port accepts that
    /// name.
    private static func rule(of port: Port) -> AdminAccess {
        AdminAccess(names: self.names.union([port.host]), token: port.token)
    }

    /// The name of this machine.
    private static var names: Set<String> {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return [] }
        return [String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)]
    }

    private static func serve(
        _ port: Port,
        on group: any EventLoopGroup,
        _ answer: @escaping @Sendable (AdminRequest) async -> AdminAnswer
    ) async throws -> Open {
        var listening = Listener.Configuration()
        (listening.host, listening.port, listening.tls) = (port.host, port.number, port.tls)
        let access = Access(Self.rule(of: port))
        return Open(port, try await Self.serve(listening, .port, access, on: group, answer), access)
    }

    private static func serve(
        _ listening: Listener.Configuration,
        _ way: AdminAccess.Way,
        _ access: Access,
        on group: any EventLoopGroup,
        _ answer: @escaping @Sendable (AdminRequest) async -> AdminAnswer
    ) async throws -> HTTPServer {
        var listening = listening
        listening.limits.connections = Self.connectionLimit
        return try await HTTPServer.start(listening, limits: .init(body: Self.bodyLimit), on: group) { request, _ in
            do throws(AdminAccess.Refusal) {
                try access.rule.withLock { $0 }.admit(way, request.method, request.headers)
            } catch {
                return AdminAnswer(refusal: error).serverAnswer
            }
            return await answer(AdminRequest(request, way)).serverAnswer
        }
    }

    // MARK: Another port

    /// Prepares a change of the port, and binds a new address. The old port stays as it is until ``commit(_:)``.
    ///
    /// - Throws: a socket error when the address cannot be bound.
    package func prepare(_ port: Port?) async throws -> PortSwitch {
        guard let port else { return PortSwitch(change: .replace(nil)) }
        if let open = self.open.withLock({ $0 }), open.port.host == port.host, open.port.number == port.number,
            (open.port.tls == nil) == (port.tls == nil)
        {
            return PortSwitch(change: .keep(port))
        }
        return PortSwitch(change: .replace(try await Self.serve(port, on: self.group, self.answer)))
    }

    /// Carries out a change of the port.
    package func commit(_ change: PortSwitch) async {
        switch change.change {
        case .keep(let port):
            guard let open = self.open.withLock({ $0 }) else { return }
            open.access.rule.withLock { $0 = Self.rule(of: port) }
            if let tls = port.tls { open.server.use(tls) }
        case .replace(let next):
            let old = self.open.withLock { open in
                defer { open = next }
                return open
            }
            await old?.server.stop(within: .seconds(1))
        }
    }

    /// Gives up a change of the port.
    package func abandon(_ change: PortSwitch) async {
        if case .replace(let open?) = change.change { await open.server.stop(within: .seconds(1)) }
    }

    /// Closes the sockets and all connections.
    ///
    /// An answer that is still being made goes to the event loop later, so the loop must exist until then. If an answer
    /// takes longer than ``answerLimit``, the event loop is not ended.
    package func stop() async {
        await self.local?.stop(within: .seconds(1))
        await self.open.withLock { $0 }?.server.stop(within: .seconds(1))
        let end = ContinuousClock.now + Self.answerLimit
        while self.running.count > 0, ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(20)) }
        guard self.running.count == 0 else { return }
        // During this pause, the last answers reach the event loop.
        try? await Task.sleep(for: .milliseconds(20))
        try? await self.group.shutdownGracefully()
    }
}

/// A request that was let in.
package struct AdminRequest: Sendable {
    /// The method, in capital letters: `GET`.
    package var method: String
    /// The path, without the query: `/status`.
    package var path: String
    package var body: [UInt8]
    /// Whether the request came over the socket, and so from the same user.
    package var isLocal: Bool
    private let request: HTTPServerRequest

    init(_ request: HTTPServerRequest, _ way: AdminAccess.Way) {
        self.method = request.method
        self.path = request.path
        self.body = request.body
        self.isLocal = if case .socket = way { true } else { false }
        self.request = request
    }

    /// The value of a parameter of the query, decoded; nil if it is missing or malformed.
    package func parameter(_ name: String) -> String? {
        guard let value = self.request.parameter(name) else { return nil }
        var (bytes, rest): ([UInt8], Substring.UTF8View) = ([], value.utf8)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let decoded = [UInt8](hexadecimal: rest.prefix(2)), decoded.count == 1 else { return nil }
            bytes += decoded
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// The answer of an admin route.
package struct AdminAnswer: Sendable {
    package var status: Int
    package var contentType: String
    package var body: [UInt8]
    package var headers: [(name: String, value: String)] = []

    package init(status: Int = 200, contentType: String, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// An answer of plain text.
    package init(status: Int, _ sentence: String) {
        self.init(status: status, contentType: "text/plain; charset=utf-8", body: Array((sentence + "\n").utf8))
    }

    package init(json: [UInt8]) { self.init(contentType: "application/json", body: json) }

    package static let notFound = AdminAnswer(
        status: 404,
        "There is nothing here. Ask for /, /status, /metrics, /health/live, /health/ready or /health/delivering."
    )

    init(refusal: AdminAccess.Refusal) {
        switch refusal {
        case .foreignHost:
            self.init(
                status: 421,
                "The name of the host is not one of this service. Ask by address, as localhost, or by the configured host."
            )
        case .unauthorized:
            self.init(status: 401, "The token is missing or wrong. Send it as Bearer, or as the password of Basic.")
            self.headers = [("WWW-Authenticate", "Basic realm=\"Ferry\", charset=\"UTF-8\"")]
        case .readOnly:
            self.init(status: 405, "The port only reads. What changes something goes over the socket.")
            self.headers = [("Allow", "GET, HEAD")]
        }
    }

    /// The headers keep the answer out of caches, frames and pages of other origins, and stop guesses of its content
    /// type. In answer to `HEAD`, the server leaves out the body, but sends the body's length.
    var serverAnswer: HTTPServerAnswer {
        var headers: HTTPHeaders = [
            "Content-Type": self.contentType, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
        ]
        for (name, value) in self.headers { headers.replaceOrAdd(name: name, value: value) }
        return HTTPServerAnswer(status: self.status, headers: headers, body: self.body)
    }
}
