import Ferry
import FerryOpenSSL
import FerryTesting
import NIOCore
import NIOPosix
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Tests of connections that can never be established.
@Suite(.timeLimit(.minutes(10)), .inEveryArrangement, .namingTheArrangement)
struct CredentialsTests {
    private static func errors(_ events: [ProviderEvent]) -> [ProviderError.Code] {
        events.compactMap { if case .error(let error) = $0 { error.code } else { nil } }
    }

    private static func socketErrors(_ events: [ProviderEvent]) -> Set<ProviderError.Code> {
        Set(events.compactMap { if case .socketError(_, let error) = $0 { error.code } else { nil } })
    }

    @Test(arguments: [-1, 0, 65_536])
    func `an impossible port is refused by every client`(port: Int) throws {
        func fault(_ make: () throws -> Void) -> String? {
            do { try make() } catch { return (error as? ConfigurationError)?.description }
            return nil
        }
        let binary = fault {
            _ = try BinaryProvider(BinaryConfiguration(host: "localhost", port: port, outcomes: .discard))
        }
        let feedback = fault { _ = try FeedbackReader(FeedbackConfiguration(host: "localhost", port: port)) }
        #expect(binary == "The port of localhost is not 1 to 65535.")
        #expect(feedback == binary)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a refused client certificate is one error, and nothing is called accepted`(
        version: TLSVersion
    ) async throws {
        var script = GatewayScript()
        script.handshake = .refuseClient
        try await Harness.run(script, maximumTLSVersion: version) { harness in
            // With TLS 1.3 the refusal comes after the handshake. Silence before it must not count as acceptance.
            var configuration = harness.proving
            configuration.tlsVersions = .tls12...version
            let provider = try TestedProvider(configuration)
            let events = provider.events(bufferingNewest: 10_000)
            try await Harness.submit(0..<3000, to: provider)
            await harness.outcomes.count(reaches: 3000)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.outcomes.undelivered == 3000)
            #expect(harness.outcomes.all.values.allSatisfy { $0 == [.undelivered(.credentials)] })
            #expect(Self.errors(await events.all()) == Arrangement.current.perLoop(.credentialsRejected))
            #expect(harness.gateway.counts.accepted == 0)
        }
    }

    /// Submits to a gateway that cannot be reached, until the client gives up.
    private func expectFailure(
        _ code: ProviderError.Code,
        _ harness: Harness,
        _ change: (inout BinaryConfiguration) throws -> Void
    ) async throws {
        var configuration = harness.configuration
        configuration.options.connectionRetryLimit = 1
        configuration.options.backOff = .milliseconds(10) ... .milliseconds(20)
        try change(&configuration)
        let provider = try TestedProvider(configuration)
        let events = provider.events(bufferingNewest: 1000)
        try await Harness.submit(0..<10, to: provider)
        await harness.outcomes.count(reaches: 10)
        let report = await provider.shutDown(within: Harness.forever)
        #expect(harness.outcomes.all.values.allSatisfy { $0 == [.undelivered(.noConnection)] })
        let all = await events.all()
        #expect(Self.socketErrors(all) == [code])
        // No retry makes a stranger trusted.
        let last: ProviderError.Code = code == .peerNotTrusted ? code : .connectionRetryLimit
        #expect(Self.errors(all) == Arrangement.current.perLoop(last))
        #expect(report.lastError?.code == last && provider.lastError?.code == last)
        #expect(harness.outcomes.errors.allSatisfy { $0?.code == last })
    }

    @Test(arguments: ["gateway.push.apple.com", "gateway.sandbox.push.apple.com", "Gateway.Push.Apple.com."])
    func `Apple's gateways are refused at once, with what to do`(host: String) {
        let error = #expect(throws: ConfigurationError.self) {
            try BinaryProvider(BinaryConfiguration(host: host, outcomes: .discard))
        }
        #expect(error?.code == .wrongService)
        #expect(
            error?.description.hasPrefix("Apple switched \(host) off on 2021-03-31: send with HTTP2Provider to api.")
                == true
        )
    }

    @Test func `each client refuses Apple's hosts of the others`() {
        func fault(_ make: () throws -> Void) -> ConfigurationError.Code? {
            do { try make() } catch { return (error as? ConfigurationError)?.code }
            return nil
        }
        let (binary, feedback, http2) = ("gateway.push.apple.com", "feedback.push.apple.com", "api.push.apple.com")
        for host in [binary, feedback, http2] {
            #expect(fault { _ = try BinaryProvider(.init(host: host, outcomes: .discard)) } == .wrongService)
            #expect(fault { _ = try FeedbackReader(.init(host: host)) } == .wrongService)
        }
        let source = ProviderTokenSource { "" }
        for host in [binary, feedback] {
            let configuration = HTTP2Configuration(
                host: host,
                credentials: .token(source),
                topic: "a",
                outcomes: .discard
            )
            #expect(fault { _ = try HTTP2Provider(configuration) } == .wrongService)
        }
    }

    @Test func `a certificate for the other environment is refused before it is shown to Apple`() throws {
        let authority = try ThrowAwayCA()
        func fault(_ environments: Set<CertificateSummary.Environment>, _ host: String) throws -> ConfigurationError? {
            let identity = try authority.client(environments: environments)
            let configuration = HTTP2Configuration(host: host, credentials: .certificate(identity), outcomes: .discard)
            do { _ = try HTTP2Provider(configuration) } catch { return error as? ConfigurationError }
            return nil
        }
        let (production, sandbox) = (HTTP2Configuration.productionHost, HTTP2Configuration.sandboxHost)
        let error = try #require(try fault([.sandbox], production))
        #expect(error.code == .wrongEnvironment)
        #expect(error.description.contains("is for sandbox only, and \(production) is for production: use"))
        #expect(try fault([.production], sandbox)?.code == .wrongEnvironment)
        #expect(try fault([.sandbox], sandbox) == nil)
        #expect(try fault([.sandbox, .production], production) == nil)
        #expect(try fault([], production) == nil)
        #expect(try fault([.sandbox], "localhost") == nil)
    }

    @Test func `a gateway of an unknown authority is not trusted`() async throws {
        try await Harness.run { harness in
            try await self.expectFailure(.peerNotTrusted, harness) {
                $0.trustRoots = try TestCredentials().trustRoots
            }
        }
    }

    @Test func `a gateway of another name is not trusted`() async throws {
        try await Harness.run { harness in
            try await self.expectFailure(.peerNotTrusted, harness) { $0.serverName = "feedback.example.com" }
        }
    }

    @Test func `an untrusted gateway is taken when nothing is to be rejected`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.trustRoots = try TestCredentials().trustRoots
            configuration.rejectUnauthorized = false
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<10, to: provider)
            #expect(await provider.shutDown(within: Harness.forever).outcomes.accepted == 10)
        }
    }

    @Test func `a port that nobody listens on refuses`() async throws {
        try await Harness.run { harness in
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: 0).get()
            let port = try #require(listener.localAddress?.port)
            try await listener.close()
            try await self.expectFailure(.connectFailed, harness) { $0.port = port }
        }
    }

    @Test func `a server that says nothing times out`() async throws {
        var script = GatewayScript()
        script.handshake = .silent
        try await Harness.run(script) { harness in
            try await self.expectFailure(.connectTimeout, harness) { $0.options.connectTimeout = .milliseconds(100) }
        }
    }

    #if os(Linux)
    @Test func `a host that does not answer times out`() async throws {
        // The listener accepts no connection and its queue is full, so the kernel drops every SYN.
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var sockets = [listener]
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(listener, address, length)
                _ = listen(listener, 0)
                _ = getsockname(listener, address, &length)
                for _ in 0..<4 {
                    let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
                    _ = connect(filler, address, length)
                    sockets.append(filler)
                }
            }
        }
        defer { for descriptor in sockets { close(descriptor) } }
        let port = Int(UInt16(bigEndian: address.sin_port))
        try await Harness.run { harness in
            try await self.expectFailure(.connectTimeout, harness) {
                $0.port = port
                $0.options.connectTimeout = .milliseconds(100)
            }
        }
    }
    #endif

    @Test func `a host name that does not exist fails`() async throws {
        try await Harness.run { harness in
            try await self.expectFailure(.connectFailed, harness) {
                $0.host = "does-not-exist.invalid"
            }
        }
    }

    @Test(arguments: [
        "", "https://gateway.example.com", "gateway.example.com:2195", "gateway.example.com/3", "a b",
        "user:secret@gw.example:2195",
    ])
    func `a host that is a URL, or has a port, is refused before anything is sent`(host: String) {
        let configuration = BinaryConfiguration(host: host, outcomes: .discard)
        let error = #expect(throws: ConfigurationError.self) { try BinaryProvider(configuration) }
        #expect(error?.code == .malformedHost)
        #expect(error?.description.contains("https://") == true)
        #expect(error?.description.contains("secret") == false)
    }

    @Test(arguments: ["gateway.example.com", "192.0.2.1", "2001:db8::1", "::1", "localhost."])
    func `names and addresses are hosts`(host: String) throws {
        _ = try BinaryProvider(BinaryConfiguration(host: host, outcomes: .discard))
    }

    @Test func `the trouble is known as soon as the outcome is`() async throws {
        try await Harness.run { harness in
            let stranger = try TestCredentials()
            for _ in 0..<20 {
                var configuration = harness.configuration
                configuration.trustRoots = stranger.trustRoots
                let provider = try TestedProvider(configuration)
                let notification = try PushNotification(Payload(alert: "Hello"))
                let outcome = try await provider.send(notification, to: Harness.device(1))
                #expect(outcome == .undelivered(.noConnection))
                #expect(provider.lastError?.code == .peerNotTrusted)
                await provider.shutDown(within: Harness.forever)
            }
        }
    }
}
