internal import Ferry
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryProxy
internal import FerryTerminal
internal import NIOCore
internal import NIOPosix

/// An examination of a host: the look-up of its name, connections to it, and one handshake for each version of TLS.
///
/// It makes few connections, one after the other, because APNs takes many connections for an attack. It tries at most
/// ``addressLimit`` addresses to find one of each family that answers. Then it makes up to five connections for TLS to
/// each of these, until one speaks TLS, and one connection for HTTP/2. It sends only handshakes, the SETTINGS of
/// HTTP/2, and CONNECT to a proxy.
struct HostProbe: Sendable {
    /// The largest number of addresses that are tried.
    static let addressLimit = 8
    /// The time that a server has to refuse a certificate after the handshake.
    static let verdictLimit: Duration = .seconds(1)
    /// The extra time that a proxy gets beyond the limit, so that ``TunnelProbe`` notices its silence first.
    private static let grace = TimeAmount.seconds(1)
    /// The versions, in the order of the handshakes. Versions that providers use come first: if the peer does not speak
    /// TLS, the rest is left out.
    static let versions: [TLSVersion] = [.tls12, .tls13, .tls11, .tls10]

    var host: String
    var port: Int
    var serverName: String
    var identity: TLSIdentity?
    /// A client with the trust roots of the provider.
    var verifier: TLSContext
    /// The proxy in front of the host, if there is one.
    var proxy: HTTPProxy?
    /// The oldest TLS that the provider accepts.
    var profile = TLSProfile.modern
    var http2 = HostFacts.HTTP2Demand.none
    /// Whether the host should speak TLS. If not, the probe only connects.
    var isTLS = true
    /// The limit of the name look-up, of each connection, and of each handshake.
    var limit: Duration
    var eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

    /// - Throws: `TLSError` when OpenSSL refuses the server's name or the identity.
    func run() async throws -> HostFacts {
        var facts = HostFacts(
            host: self.host,
            port: self.port,
            serverName: self.serverName,
            limit: self.limit,
            addresses: await Resolver.addresses(
                of: self.proxy?.host ?? self.host,
                port: self.proxy?.port ?? self.port,
                within: self.limit,
                on: self.eventLoop
            )
        )
        facts.proxy = self.proxy
        facts.http2 = self.http2
        facts.profile = self.profile
        guard case .success(let addresses) = facts.addresses else { return facts }
        await self.connect(addresses.prefix(Self.addressLimit), &facts)
        if self.proxy != nil, let address = facts.attempts.first(where: { $0.result == .connected })?.address {
            let tunnel = try await self.askForTunnel(at: address)
            facts.tunnel = tunnel
            guard case .open = tunnel else { return facts }
        }
        guard self.isTLS, let address = try await self.shakeHands(&facts) else { return facts }
        let newest = facts.handshakes.filter { $0.report.chain != nil }.max { $0.version < $1.version }
        if let chain = newest?.report.chain ?? facts.legacyHandshake?.chain {
            facts.server = HostFacts.Server(
                certificates: chain.certificates,
                isForName: chain.isFor(PeerName(self.serverName)),
                faults: chain.faults(for: self.verifier)
            )
        }
        if facts.handshakes.contains(where: { $0.report.applicationProtocol == Self.http2Name }) {
            facts.greeting = try await self.greet(address)
        }
        return facts
    }

    /// Tries addresses until one of each family has accepted a connection.
    private func connect(_ addresses: some Sequence<SocketAddress>, _ facts: inout HostFacts) async {
        for address in addresses {
            let isKnown = facts.attempts.contains {
                $0.result == .connected && $0.address.protocol == address.protocol
            }
            guard !isKnown else { continue }
            facts.attempts.append(.init(address: address, result: await self.connect(address)))
        }
    }

    private func connect(_ address: SocketAddress) async -> HostFacts.Attempt.Result {
        do {
            let channel = try await self.bootstrap.connect(to: address).get()
            try? await channel.close().get()
            return .connected
        } catch let error as IOError where error.errnoCode == ECONNREFUSED {
            return .refused
        } catch let error as IOError where error.errnoCode == ETIMEDOUT {
            return .timedOut
        } catch ChannelError.connectTimeout {
            return .timedOut
        } catch {
            return .failed(Sentence.of(error))
        }
    }

    /// Asks the proxy for a tunnel to the host, and closes it.
    private func askForTunnel(at address: SocketAddress) async throws -> HostFacts.Tunnel {
        try await self.probe(address, orElse: .silent) { [limit] channel, result in
            try channel.pipeline.syncOperations.addHandler(TunnelProbe(limit: limit, result: result))
        }
    }

    /// Makes handshakes with the addresses that accepted a connection, until one speaks TLS. Returns that address, or
    /// else the first that accepted a connection.
    private func shakeHands(_ facts: inout HostFacts) async throws -> SocketAddress? {
        var first: HostFacts?
        for attempt in facts.attempts where attempt.result == .connected {
            var own = facts
            try await self.shakeHands(attempt.address, &own)
            if own.legacyHandshake != nil || own.handshakes.contains(where: \.report.speaksTLS) {
                facts = own
                return attempt.address
            }
            facts.muteAddresses.append(attempt.address)
            first = first ?? own
        }
        guard let first else { return nil }
        facts = first
        return facts.attempts.first { $0.result == .connected }?.address
    }

    private func shakeHands(_ address: SocketAddress, _ facts: inout HostFacts) async throws {
        for version in Self.versions {
            let report = try await self.handshake(version, self.profile, address)
            facts.handshakes.append(.init(version: version, report: report))
            let isTLS = report.firstBytes.isEmpty || report.beginsLikeTLS
            if case .timedOut = report.ending { return }
            if !isTLS { return }
            guard version == .tls12, self.profile == .modern, report.needsLegacyProfile else { continue }
            let legacy = try await self.handshake(version, .legacy, address)
            if legacy.speaksTLS { facts.legacyHandshake = legacy }
        }
    }

    private func handshake(
        _ version: TLSVersion,
        _ profile: TLSProfile,
        _ address: SocketAddress
    ) async throws -> HandshakeReport {
        var client = TLSContext.Client(
            identity: self.identity,
            profile: profile,
            versions: version...version,
            applicationProtocols: self.http2 == .none ? [] : [Self.http2Name]
        )
        client.saysDoctor = true
        let context = try TLSContext(testingWithoutVerification: client)
        let limits = HandshakeProbe.Limits(handshake: self.limit, verdict: Self.verdictLimit)
        return try await self.probe(address, orElse: HandshakeReport(ending: .closed)) { [serverName] channel, result in
            let probe = try HandshakeProbe(client: context, serverName: serverName, limits: limits, result: result)
            try channel.pipeline.syncOperations.addHandler(probe)
        }
    }

    private func greet(_ address: SocketAddress) async throws -> HTTP2Greeting {
        let context = try TLSContext(
            testingWithoutVerification: .init(
                identity: self.identity,
                profile: self.profile,
                applicationProtocols: [Self.http2Name]
            )
        )
        return try await self.probe(address, orElse: .closed(nil)) { [limit, serverName] channel, result in
            let tls = try TLSHandler(client: context, serverName: serverName)
            let probe = try HTTP2GreetingProbe(limit: limit, result: result)
            try channel.pipeline.syncOperations.addHandlers([tls, probe] as [any ChannelHandler])
        }
    }

    /// Connects, and returns the result of the handlers that `add` adds.
    ///
    /// - Parameter refusal: the result if the connection fails, although the address accepted one before.
    private func probe<Value: Sendable>(
        _ address: SocketAddress,
        orElse refusal: Value,
        _ add: @escaping @Sendable (any Channel, EventLoopPromise<Value>) throws -> Void
    ) async throws -> Value {
        let result = self.eventLoop.makePromise(of: Value.self)
        self.bootstrap
            .channelInitializer { [proxy, host, port, limit] channel in
                channel.eventLoop.makeCompletedFuture {
                    if let proxy {
                        let tunnel = ProxyConnectHandler(proxy, host: host, port: port)
                        try channel.pipeline.syncOperations.addHandler(tunnel)
                        // The probes begin when the tunnel is open. Without this timer, a proxy that hangs would keep
                        // them for ever.
                        channel.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit) + Self.grace) {
                            if tunnel.isWaiting { channel.close(promise: nil) }
                        }
                    }
                    try add(channel, result)
                }
            }
            .connect(to: address).whenFailure { result.fail($0) }
        do {
            return try await result.futureResult.get()
        } catch let error as TLSError {
            throw error
        } catch {
            return refusal
        }
    }

    private static let http2Name = "h2"

    private var bootstrap: ClientBootstrap {
        ClientBootstrap(group: self.eventLoop).connectTimeout(TimeAmount(self.limit))
    }
}

extension HandshakeReport {
    /// Whether the handshake failed because server and modern profile have nothing in common. The server or this side
    /// may report the failure.
    fileprivate var needsLegacyProfile: Bool {
        guard case .failed(let error) = self.ending else { return false }
        return error.code == .incompatiblePeer || error.code == .weakCredentials
    }
}
