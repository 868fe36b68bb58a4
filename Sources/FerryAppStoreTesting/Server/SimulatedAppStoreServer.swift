internal import FerryCore
internal import FerryHTTP1
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryServer
public import FerryTesting
public import NIOCore

/// A simulated App Store Server API over HTTPS, for tests: notification history, test notifications, subscription statuses
/// and transaction history.
///
/// What it knows are the notifications of an ``AppStoreSender``. It checks the bearer token of each request, keeps Apple's
/// rate limits, and answers with Apple's error codes.
///
/// ```swift
/// let credentials = try TestCredentials()
/// var maker = try NotificationMaker(app: AppStoreApp(bundleID: "com.example.app"))
/// let sender = try AppStoreSender(.init(url: "http://127.0.0.1:8080/app-store", signer: maker.signer))
/// let server = try await SimulatedAppStoreServer.start(.init(credentials: credentials, maker: maker, sender: sender))
/// sender.add(try maker.make(.init(.didRenew)))       // posted at once, and then in the history
/// // … ask https://localhost:PORT/inApps/v1/notifications/history with a token of credentials.tokenKey …
/// await server.stop()
/// ```
///
/// Source of all calls: the pages of the App Store Server API. Its methods may be called from any thread. Stop every server:
/// releasing the last reference does not close its connections.
public final class SimulatedAppStoreServer: Sendable {
    /// The address, the app and the behaviour of a server.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        public var port = 0
        /// The identity of the server, and the key of bearer tokens with its identifier.
        public var credentials: TestCredentials
        /// Makes the test notifications that are asked for. Its app and its environment are those of the API.
        public var maker: NotificationMaker
        /// Sends test notifications, and keeps what the history returns. Nil: no server URL is set, and the history is empty.
        public var sender: AppStoreSender?
        /// Whether the server runs ``AppStoreSender/serve()``. If not, the owner runs the sender.
        public var runsSender = true
        /// `iss` of bearer tokens. The default is the team of `TestCredentials`.
        public var issuerID: String
        /// Nil: Apple's limits in the maker's environment.
        public var rateLimits: AppStoreRateLimits?
        /// The fraction of requests that meet a random fault.
        public var faults = 0.0
        /// Decides which requests meet which fault.
        public var seed: UInt64 = 0

        /// The team of the credentials is the issuer of bearer tokens.
        public init(credentials: TestCredentials, maker: NotificationMaker, sender: AppStoreSender? = nil) {
            self.credentials = credentials
            self.maker = maker
            self.sender = sender
            self.issuerID = credentials.teamID
        }
    }

    /// What goes wrong with a request.
    public enum Fault: Hashable, Sendable {
        /// 500 with error code 5000000.
        case internalError
        /// 500 with error code 5000001, which asks to try again.
        case tryAgain
        /// 429 with error code 4290000, and `Retry-After` so much later.
        case rateLimited(Duration)
        /// The right answer, so much later.
        case slow(Duration)
        /// The connection is reset in the middle of the answer.
        case cut
    }

    /// The bound host, as the configuration names it.
    public var host: String { self.server.host }
    /// The bound port.
    public var port: Int { self.server.port }
    private let server: HTTPServer
    private let desk: AppStoreDesk
    private let sending: Task<Void, Never>?

    /// A request for the history has some 200 bytes. A connection of a test may stay silent for as long as it likes.
    private static var limits: HTTPServer.Limits {
        var limits = HTTPServer.Limits(body: 64 << 10)
        (limits.opening, limits.request, limits.pause) = (.seconds(3600), .seconds(3600), .seconds(3600))
        return limits
    }

    private init(_ server: HTTPServer, _ desk: AppStoreDesk, _ sending: Task<Void, Never>?) {
        self.server = server
        self.desk = desk
        self.sending = sending
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - configuration: the address, and what happens there.
    ///   - group: the event loops to run on. The group must outlive the server. Nil: the singleton group of SwiftNIO.
    /// - Throws: `TLSError` when the credentials cannot be used, or a socket error when the address cannot be bound.
    public static func start(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)? = nil
    ) async throws -> SimulatedAppStoreServer {
        let tls = try TLSContext.simulated(as: configuration.credentials, maximum: .tls13, protocols: ["http/1.1"])
        let address = Listener.Configuration(host: configuration.host, port: configuration.port, tls: tls)
        let desk = AppStoreDesk(configuration)
        let server = try await HTTPServer.start(address, limits: Self.limits, on: group) { request, _ in
            await desk.answer(AppStoreAPIRequest(request))
        }
        let sender = configuration.runsSender ? configuration.sender : nil
        return SimulatedAppStoreServer(server, desk, sender.map { sender in Task { await sender.serve() } })
    }

    /// The counts so far. Holds two locks, one after the other, for a few instructions.
    public var counts: AppStoreCounts {
        var counts = self.desk.counts
        let connections = self.server.counts
        counts.connections = connections.connections
        counts.handshakes = connections.handshakes
        counts.handshakeFailures = connections.handshakeFailures
        return counts
    }

    /// Lets the next requests meet a fault.
    public func failNext(_ fault: Fault, times: Int = 1) { self.desk.failNext(fault, times: times) }

    /// Closes the listener and all connections, without close_notify, and ends the run of the sender.
    ///
    /// - Parameter limit: how long to wait for the sockets to close. Sockets that are still open then close later, by
    ///   themselves.
    public func stop(within limit: Duration = .seconds(5)) async {
        self.sending?.cancel()
        await self.server.stop(within: limit)
        await self.sending?.value
    }
}

/// The counts of a ``SimulatedAppStoreServer`` since it started.
public struct AppStoreCounts: Hashable, Sendable {
    /// Connections that were accepted.
    public var connections = 0
    /// Connections whose TLS handshake succeeded.
    public var handshakes = 0
    /// Connections that failed before their TLS handshake ended.
    public var handshakeFailures = 0
    /// Requests that were read.
    public var requests = 0
    /// Requests that met a fault.
    public var faults = 0
}

/// The place where all connections bring their requests. Safe from any thread.
final class AppStoreDesk: Sendable {
    private struct State {
        var api: AppStoreAPI
        /// The faults of the next requests.
        var faults: [SimulatedAppStoreServer.Fault] = []
        var values: NotificationValues
        /// Of requests and faults only.
        var counts = AppStoreCounts()
    }

    private static let randomFaults: [SimulatedAppStoreServer.Fault] = [
        .internalError, .tryAgain, .cut, .slow(.milliseconds(500)), .rateLimited(.seconds(1)),
    ]

    private let state: Locked<State>
    private let sender: AppStoreSender?
    private let faultFraction: Double

    init(_ configuration: SimulatedAppStoreServer.Configuration) {
        let values = NotificationValues(seed: configuration.seed)
        self.state = Locked(State(api: AppStoreAPI(configuration), values: values))
        self.sender = configuration.sender
        self.faultFraction = configuration.faults
    }

    /// The requests and faults so far.
    var counts: AppStoreCounts { self.state.withLock { $0.counts } }

    func failNext(_ fault: SimulatedAppStoreServer.Fault, times: Int) {
        self.state.withLock { $0.faults += Array(repeating: fault, count: max(0, times)) }
    }

    /// Answers a request, with the fault that it meets on its way.
    func answer(_ request: AppStoreAPIRequest) async -> HTTPServerAnswer {
        let fault = self.state.withLock { state in
            let fault = self.nextFault(&state)
            state.counts.requests += 1
            if fault != nil { state.counts.faults += 1 }
            return fault
        }
        switch fault {
        case .internalError: return HTTPServerAnswer(.internalFault)
        case .tryAgain: return HTTPServerAnswer(.tryAgain)
        case .rateLimited(let wait):
            return HTTPServerAnswer(.rateLimited, again: Date().addingTimeInterval(wait / .seconds(1)))
        case .slow(let time):
            let answer = self.judge(request)
            try? await Task.sleep(for: time)
            return answer
        case .cut:
            var answer = self.judge(request)
            answer.isCut = true
            return answer
        case nil: return self.judge(request)
        }
    }

    private func nextFault(_ state: inout State) -> SimulatedAppStoreServer.Fault? {
        guard state.faults.isEmpty else { return state.faults.removeFirst() }
        guard self.faultFraction > 0, state.values.fraction() < self.faultFraction else { return nil }
        return Self.randomFaults[Int(state.values.fraction() * Double(Self.randomFaults.count))]
    }

    private func judge(_ request: AppStoreAPIRequest) -> HTTPServerAnswer {
        let (records, now) = (self.sender?.records ?? [], Date())
        let appStoreNow = self.sender?.now ?? now
        let (answer, test) = self.state.withLock { state in
            state.api.answer(request, records: records, now: now, appStoreNow: appStoreNow)
        }
        if let test { self.sender?.add(test) }
        return answer
    }
}
