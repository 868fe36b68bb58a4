import Ferry
import FerryProxyTestSupport
import FerryTesting
import NIOCore
import NIOPosix
import Testing

/// Tests through HTTP proxies, good and bad, over loopback.
@Suite(.timeLimit(.minutes(10)), .inEveryArrangement, .namingTheArrangement)
struct ProxyTests {
    /// `Basic` and the Base64 form of `ferry:open sesame`.
    private static let authorization = "Basic ZmVycnk6b3BlbiBzZXNhbWU="

    private static func proxy(_ port: Int, password: String? = "open sesame") -> HTTPProxy {
        HTTPProxy(host: "127.0.0.1", port: port, userName: password.map { _ in "ferry" }, password: password)
    }

    @Test(arguments: [TestProxy.Behaviour.tunnel(authorization: Self.authorization), .tunnelSlowly])
    func `notifications go through a proxy`(behaviour: TestProxy.Behaviour) async throws {
        try await RawAPNs.run { apns in
            try await TestProxy.run(behaviour) { proxy in
                let outcomes = OutcomeCollector()
                var configuration = try apns.configuration(nil, outcomes)
                configuration.proxy = Self.proxy(proxy.port)
                let provider = try TestedProvider(configuration)
                try await Harness.submit(0..<100, to: provider)
                let report = await provider.shutDown(within: Harness.forever)
                #expect(report.outcomes.confirmed == 100)
                #expect(apns.requests.count == 100)
                let target = "127.0.0.1:\(apns.port)"
                let request =
                    "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
                    + "Proxy-Authorization: \(Self.authorization)\r\n\r\n"
                #expect(proxy.requests == Arrangement.current.perLoop(request))
            }
        }
    }

    /// Sends through a bad proxy until the client gives up. Returns the error of each connection.
    private func errors(
        _ behaviour: TestProxy.Behaviour,
        password: String? = nil,
        isLasting: Bool? = nil,
        _ change: (inout HTTP2Configuration) -> Void = { _ in }
    ) async throws -> [ProviderError] {
        var errors: [ProviderError] = []
        try await RawAPNs.run { apns in
            try await TestProxy.run(behaviour) { proxy in
                let outcomes = OutcomeCollector()
                var configuration = try apns.configuration(nil, outcomes)
                configuration.proxy = Self.proxy(proxy.port, password: password)
                change(&configuration)
                let provider = try TestedProvider(configuration)
                let events = provider.events(bufferingNewest: 100)
                try await Harness.submit(0..<10, to: provider)
                await outcomes.count(reaches: 10)
                _ = await provider.shutDown(within: Harness.forever)
                #expect(outcomes.all.values.allSatisfy { $0 == [.undelivered(.noConnection)] })
                #expect(apns.requests.isEmpty)
                errors = await events.all().compactMap {
                    if case .socketError(_, let error) = $0 { error } else { nil }
                }
            }
        }
        // One retry is allowed, and none where it could not help.
        #expect(errors.count == (errors.first?.isLasting == true ? 1 : 2) * Arrangement.current.loops)
        if let isLasting { #expect(errors.allSatisfy { $0.isLasting == isLasting }) }
        return errors
    }

    @Test func `a wrong password, and none where one is wanted, are told apart`() async throws {
        let behaviour = TestProxy.Behaviour.tunnel(authorization: Self.authorization)
        for error in try await self.errors(behaviour, password: "wrong", isLasting: true) {
            #expect(error.code == .connectFailed)
            #expect(error.message.contains("refused the user name and the password (status 407)"))
            #expect(!error.message.contains("wrong"))
        }
        for error in try await self.errors(behaviour, isLasting: true) {
            #expect(error.message.contains("wants a user name and a password (status 407)"))
        }
    }

    @Test func `another status is named`() async throws {
        let behaviour = TestProxy.Behaviour.say("HTTP/1.1 503 Service Unavailable\r\n\r\n", closes: true)
        for error in try await self.errors(behaviour, isLasting: false) {
            #expect(error.code == .connectFailed)
            #expect(error.message.contains("did not connect to 127.0.0.1:"))
            #expect(error.message.contains("status 503"))
        }
    }

    @Test func `what is no proxy is called that`() async throws {
        for error in try await self.errors(.say("SSH-2.0-OpenSSH_9.2\r\n", closes: false)) {
            #expect(error.message.contains("is no HTTP proxy"))
        }
    }

    @Test func `an answer without an end is given up`() async throws {
        let endless = "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 4000)
        for error in try await self.errors(.say(endless, closes: false)) {
            #expect(error.message.contains("bytes of header"))
        }
    }

    @Test func `a proxy that closes without an answer is named`() async throws {
        for error in try await self.errors(.say("HTTP/1.1 200", closes: true)) {
            #expect(error.message.contains("closed the connection before it answered"))
        }
    }

    @Test func `a proxy that stays silent is given up in time`() async throws {
        let errors = try await self.errors(.silence) { $0.options.connectTimeout = .milliseconds(200) }
        for error in errors {
            #expect(error.code == .connectTimeout)
            #expect(error.message.contains("The proxy 127.0.0.1:"))
            #expect(error.message.contains("did not answer in time"))
        }
    }

    @Test func `a proxy that dies after it opened the tunnel is named`() async throws {
        for error in try await self.errors(.dieInTheMiddle) {
            #expect(error.code == .connectFailed)
            #expect(error.message.contains("The proxy 127.0.0.1:"))
            #expect(error.message.contains("it ended before TLS was established"))
        }
    }

    @Test func `a tunnel that the proxy closes under a request is a lost connection, whose error names the proxy`()
        async throws
    {
        let (requests, continuation) = AsyncStream.makeStream(of: Void.self)
        let neverAnswers: RawAPNs.Behaviour = { _ in
            continuation.yield()
            return nil
        }
        try await RawAPNs.run(.init(), neverAnswers) { apns in
            try await TestProxy.run(.tunnel()) { proxy in
                let outcomes = OutcomeCollector()
                var configuration = try apns.configuration(nil, outcomes)
                configuration.proxy = Self.proxy(proxy.port, password: nil)
                configuration.options.onUnknown = .report
                let provider = try TestedProvider(configuration)
                let events = provider.events(bufferingNewest: 100)
                try await Harness.submit(0..<1, to: provider)
                for await _ in requests { break }
                await proxy.closeTunnels()
                await outcomes.count(reaches: 1)
                #expect(outcomes.all.values.allSatisfy { $0 == [.uncertain(.positionUnknown)] })
                _ = await provider.shutDown(within: Harness.forever)
                let errors = await events.all().compactMap { event -> ProviderError? in
                    if case .socketError(_, let error) = event { error } else { nil }
                }
                #expect(errors.map(\.code) == [.connectionLost])
                #expect(errors.first?.message.contains("(through the proxy 127.0.0.1:\(proxy.port))") == true)
            }
        }
    }

    @Test func `a tunnel through which nothing comes is given up in time`() async throws {
        let errors = try await self.errors(.leadNowhere) { $0.options.connectTimeout = .seconds(2) }
        for error in errors {
            #expect(error.code == .connectTimeout)
            #expect(error.message.contains("The proxy 127.0.0.1:"))
            #expect(error.message.contains("nothing came through it in time"))
        }
    }

    @Test func `bytes behind the answer belong to TLS`() async throws {
        let text = "HTTP/1.1 200 OK\r\n\r\nThis is not TLS, and long enough to show it."
        for error in try await self.errors(.say(text, closes: false)) {
            #expect(error.message.contains("No TLS connection"))
            #expect(error.message.contains("(through the proxy 127.0.0.1:"))
        }
    }

    @Test func `a proxy that is not there is named`() async throws {
        // The port was bound and closed again, so connections to it are refused.
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = listener.localAddress?.port ?? 0
        try await listener.close()
        for error in try await self.errors(.silence, { $0.proxy = Self.proxy(port) }) {
            #expect(error.code == .connectFailed)
            #expect(error.message.contains("No connection to the proxy 127.0.0.1:\(port)"))
        }
    }

    @Test func `no description of a proxy shows the password`() {
        let proxy = Self.proxy(3128)
        var dumped = ""
        dump(proxy, to: &dumped)
        for text in ["\(proxy)", String(describing: proxy), String(reflecting: proxy), dumped] {
            #expect(text.contains("3128"))
            #expect(!text.contains("sesame"))
        }
    }
}
