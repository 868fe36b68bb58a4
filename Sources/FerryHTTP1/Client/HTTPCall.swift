internal import FerryCore
internal import FerryOpenSSL
internal import FerryProxy
internal import FerryServer
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// One request from its start to its answer, over one connection. If that connection was idle before, and ends before
/// the answer begins, an idempotent request is repeated over a new connection.
///
/// ```
///    new ──▶ dialing ──▶ exchanging ──▶ done
///     │         ▲             │           ▲
///     │         └─ repeated ──┘           │
///     └──── cancelled, time ran out ──────┘
/// ```
///
/// `@unchecked Sendable`: all members are used on the event loop only.
final class HTTPCall: @unchecked Sendable {
    typealias Completion = @Sendable (Result<HTTPClientResponse, HTTPClientError>) -> Void

    struct Limits {
        var whole: TimeAmount
        /// The time to resolve the name and to connect, before ``whole`` begins. If nil, ``whole`` includes both steps.
        var connecting: TimeAmount?
    }

    private enum State {
        case new
        case dialing([any Channel])
        case exchanging(HTTPConnection, isReused: Bool)
        case done
    }

    private let request: HTTPClientRequest
    private let limits: Limits
    private let eventLoop: any EventLoop
    private let pool: HTTPConnectionPool
    private let context: Result<TLSContext, TLSError>
    /// The proxy of the connection; nil without a proxy.
    private let proxy: HTTPProxy?
    /// The handler that asks the proxy, on the last connection that was begun.
    private var tunnel: ProxyConnectHandler?
    private var state = State.new
    private var wasSent = false
    private var deadline = NIODeadline.distantFuture
    private var timer: Scheduled<Void>?
    private var completion: Completion?

    init(
        _ request: HTTPClientRequest,
        _ limits: Limits,
        on eventLoop: any EventLoop,
        pool: HTTPConnectionPool,
        context: Result<TLSContext, TLSError>,
        proxy: HTTPProxy?
    ) {
        self.request = request
        self.limits = limits
        self.eventLoop = eventLoop
        self.pool = pool
        self.context = context
        // A socket in the file system is on this machine, so it needs no proxy.
        self.proxy = request.url.origin.socketPath == nil ? proxy : nil
    }

    /// - Parameter idle: an idle connection of this event loop to the origin of the request; nil without one.
    func start(_ idle: HTTPConnection?, completion: @escaping Completion) {
        self.completion = completion
        let fault: HTTPFault? = if case .done = self.state { .cancelled } else { self.request.fault ?? self.tlsFault }
        if let fault {
            if let idle { self.pool.put(idle) }
            return self.complete(fault)
        }
        self.startTimer(self.limits.whole)
        if let idle, idle.isReady {
            idle.endIdling()
            self.exchange(idle, isReused: true)
        } else {
            self.dial()
        }
    }

    private func startTimer(_ limit: TimeAmount) {
        self.timer?.cancel()
        self.deadline = .now() + limit
        self.timer = self.eventLoop.assumeIsolated().scheduleTask(deadline: self.deadline) { self.expire() }
    }

    func cancel() { self.stop(.cancelled) }

    private func expire() {
        let stage: HTTPFault.Stage =
            switch self.state {
            case .exchanging where self.tunnel?.isWaiting == true: .asking
            case .exchanging(let connection, _): connection.stage
            case .new, .dialing, .done: .connecting
            }
        self.stop(.silent(stage))
    }

    private func stop(_ fault: HTTPFault) {
        let last = self.state
        self.state = .done
        switch last {
        case .new, .done: break
        case .dialing(let channels): for channel in channels { channel.close(promise: nil) }
        case .exchanging(let connection, _): connection.close()
        }
        self.complete(fault)
    }

    private func complete(_ fault: HTTPFault) {
        let error = HTTPClientError(
            fault,
            self.request.url.origin,
            through: self.proxy,
            wasSent: self.wasSent
        )
        self.complete(.failure(error))
    }

    private func complete(_ result: Result<HTTPClientResponse, HTTPClientError>) {
        self.state = .done
        self.timer?.cancel()
        self.timer = nil
        guard let completion = self.completion else { return }
        self.completion = nil
        completion(result)
    }

    // MARK: The connection

    private func dial() {
        self.state = .dialing([])
        if let limit = self.limits.connecting { self.startTimer(limit) }
        let bootstrap = ClientBootstrap(group: self.eventLoop)
            .connectTimeout(max(self.deadline - .now(), .nanoseconds(1)))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.prepare(channel) }
            }
        let origin = self.request.url.origin
        let connecting =
            if let path = origin.socketPath {
                bootstrap.connect(unixDomainSocketPath: path)
            } else {
                bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1).connect(
                    host: self.proxy?.host ?? origin.host,
                    port: self.proxy?.port ?? origin.port
                )
            }
        connecting.assumeIsolated().whenComplete { result in
            guard case .dialing = self.state else { return }
            switch result {
            case .success(let channel): self.connected(channel)
            case .failure(let error): self.complete(HTTPFault(connecting: error))
            }
        }
    }

    /// The reason why a request cannot use TLS; nil if it can, or needs no TLS.
    private var tlsFault: HTTPFault? {
        guard self.request.url.scheme == .https, case .failure(let error) = self.context else { return nil }
        return .tls(error)
    }

    private func prepare(_ channel: any Channel) throws {
        guard case .dialing(let channels) = self.state else { throw ChannelError.ioOnClosedChannel }
        self.state = .dialing(channels + [channel])
        let pipeline = channel.pipeline.syncOperations
        let socket = SocketHandler()
        try pipeline.addHandler(socket)
        if let proxy {
            let tunnel = ProxyConnectHandler(proxy, host: self.request.url.host, port: self.request.url.port)
            try pipeline.addHandler(tunnel)
            self.tunnel = tunnel
        }
        if self.request.url.scheme == .https {
            var limits = TLSHandler.Limits()
            // The limit is a day, because the timer of the request ends a slow handshake.
            limits.handshake = .seconds(86_400)
            limits.shutdown = .seconds(1)
            let tls = try TLSHandler(client: self.context.get(), serverName: self.request.url.host, limits: limits)
            try pipeline.addHandler(tls)
        }
        try pipeline.addHandler(HTTPRequestEncoder())
        // Requests are not pipelined, so bytes after an answer belong to no other answer.
        try pipeline.addHandler(ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes)))
        try pipeline.addHandler(HTTPConnection(self.request.url.origin, socket, on: self.eventLoop))
    }

    private func connected(_ channel: any Channel) {
        guard let connection = try? channel.pipeline.syncOperations.handler(type: HTTPConnection.self) else {
            return self.complete(.closedEarly(nil))
        }
        self.state = .exchanging(connection, isReused: false)
        if self.limits.connecting != nil { self.startTimer(self.limits.whole) }
        connection.whenOpen { fault in
            guard case .exchanging = self.state else { return }
            if let fault { self.complete(fault) } else { self.exchange(connection, isReused: false) }
        }
    }

    private func exchange(_ connection: HTTPConnection, isReused: Bool) {
        self.state = .exchanging(connection, isReused: isReused)
        self.wasSent = true
        connection.send(self.request) { result in
            guard case .exchanging = self.state else { return }
            switch result {
            case .answer(let response):
                self.pool.put(connection)
                self.complete(.success(response))
            case .failed(.lost) where isReused && self.request.isIdempotent:
                self.dial()
            case .failed(let fault):
                self.complete(fault)
            }
        }
    }
}
