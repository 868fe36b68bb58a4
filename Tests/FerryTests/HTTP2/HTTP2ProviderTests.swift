import Ferry
import FerryOpenSSL
import FerryTesting
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// Tests of the provider over real sockets, TLS and HTTP/2.
@Suite(.timeLimit(.minutes(10)), .inEveryArrangement, .namingTheArrangement)
struct HTTP2ProviderTests {
    private static func socketErrors(_ events: [ProviderEvent]) -> [ProviderError] {
        events.compactMap { if case .socketError(_, let error) = $0 { error } else { nil } }
    }

    @Test func `every notification is confirmed or rejected, and arrives once`() async throws {
        let bad: Set<Int> = [3, 700, 1999]
        try await RawAPNs.run { request in
            guard let number = request.number, bad.contains(number) else { return .init() }
            return .init(status: 400, body: #"{"reason":"BadDeviceToken"}"#)
        } _: { apns in
            let outcomes = OutcomeCollector()
            let provider = try TestedProvider(apns.configuration(nil, outcomes))
            try await Harness.submit(0..<2000, to: provider)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.unsettled == 0)
            #expect(report.outcomes.confirmed == 1997)
            #expect(report.outcomes.rejected == 3)
            #expect(outcomes.numbers(where: \.isRejected) == bad)
            #expect(Set(apns.requests.compactMap(\.number)) == Set(0..<2000))
            #expect(apns.requests.count == 2000)
            #expect(apns.connections == Arrangement.current.loops)
        }
    }

    @Test func `requests carry the provider token, which is made once for all providers of its source`() async throws {
        try await RawAPNs.run { apns in
            let source = try apns.source()
            for _ in 0..<2 {
                let outcomes = OutcomeCollector()
                let provider = try TestedProvider(apns.configuration(.token(source), outcomes))
                try await Harness.submit(0..<10, to: provider)
                let report = await provider.shutDown(within: Harness.forever)
                #expect(report.outcomes.confirmed == 10)
            }
            let token = try source.token()
            #expect(apns.requests.allSatisfy { $0.fields["authorization"] == "bearer \(token)" })
            #expect(apns.requests.allSatisfy { $0.fields[":authority"] == "localhost:\(apns.port)" })
            #expect(apns.requests.allSatisfy { $0.fields["apns-topic"] == "com.example.ferry" })
            #expect(source.mintCount == 1)
        }
    }

    @Test func `the bundle ID as topic gets the suffix of the push type, as no topic does`() async throws {
        try await RawAPNs.run { apns in
            let provider = try TestedProvider(apns.configuration(nil, OutcomeCollector()))
            let own = "com.example.ferry"
            for topic in [nil, own, "\(own).voip"] {
                let notification = try PushNotification(json: "{}".utf8, topic: topic, pushType: .voip)
                #expect(try await provider.send(notification, to: Harness.device(1)) == .accepted(.confirmed))
            }
            let alert = try PushNotification(json: "{}".utf8, topic: own, pushType: .alert)
            #expect(try await provider.send(alert, to: Harness.device(1)) == .accepted(.confirmed))
            _ = await provider.shutDown(within: Harness.forever)
            #expect(
                apns.requests.map { $0.fields["apns-topic"] } == ["\(own).voip", "\(own).voip", "\(own).voip", own]
            )
        }
    }

    @Test func `two event loops use one provider token, and each has its part of the devices`() async throws {
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let tokens = Mutex<Set<String>>([])
        try await RawAPNs.run { request in
            // APNs that has seen one token refuses a second one.
            let token = request.fields["authorization"] ?? ""
            let isSecond = tokens.withLock { tokens in
                tokens.insert(token)
                return tokens.count > 1
            }
            return isSecond ? .init(status: 429, body: #"{"reason":"TooManyProviderTokenUpdates"}"#) : .init()
        } _: { apns in
            let source = try apns.source()
            var configuration = try apns.configuration(.token(source), OutcomeCollector())
            configuration.options.maxConnections = 2
            configuration.eventLoopGroup = threads
            configuration.loopCount = 2
            let provider = try TestedProvider(configuration)
            let events = provider.events(bufferingNewest: 10_000)
            try await Harness.submit(0..<2000, to: provider)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.outcomes.confirmed == 2000)
            #expect(source.mintCount == 1)
            #expect(tokens.withLock { $0.count } == 1)
            #expect(apns.connections == 2)
            var written: [ConnectionID: Int] = [:]
            for case .transmitted(let id, let tags) in await events.all() { written[id, default: 0] += tags.count }
            #expect(written.count == 2)
            #expect(written.values.allSatisfy { abs($0 - 1000) < 100 })
        }
        try await threads.shutdownGracefully()
    }

    @Test func `two event loops go on whenever the reader of the stream has taken outcomes`() async throws {
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        try await RawAPNs.run { apns in
            var configuration = try apns.configuration(nil, OutcomeCollector())
            configuration.outcomes = .stream
            configuration.options.queueLimit = 3
            configuration.options.maxConnections = 2
            configuration.eventLoopGroup = threads
            configuration.loopCount = 2
            // Whoever is not woken ends at the deadline, and not as confirmed.
            let (report, read) = try await withProvider(configuration.tested) { provider in
                try await Harness.submit(0..<1000, to: provider)
            } outcomes: { outcomes in
                var confirmed: Set<UInt64> = []
                for await record in outcomes where record.outcome == .accepted(.confirmed) {
                    confirmed.insert(record.tag.rawValue)
                }
                return confirmed
            }
            #expect(report.outcomes.confirmed == 1000)
            #expect(read == Set(0..<1000))
        }
        try await threads.shutdownGracefully()
    }

    @Test func `an event loop that ends takes the whole provider with it, and blocks nobody`() async throws {
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        try await RawAPNs.run { _ in
            nil
        } _: { apns in
            let outcomes = OutcomeCollector()
            var configuration = try apns.configuration(nil, outcomes)
            configuration.options.maxConnections = 2
            configuration.eventLoopGroup = threads
            configuration.loopCount = 2
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<100, to: provider)
            try await threads.shutdownGracefully()
            let report = await provider.drain(within: Harness.forever)
            #expect(report.outcomes.settled == 100)
            #expect(outcomes.all.count == 100)
            var late = PushBatch()
            try late.append(PushNotification(json: "{}".utf8), to: Harness.device(1), tag: PushTag(1))
            provider.trySubmit(&late)
            #expect(late.count == 1)
        }
    }

    @Test func `a certificate speaks for the provider in place of a token`() async throws {
        var options = RawAPNs.Options()
        options.clientCertificates = .verified { $0.subject.contains("com.example.ferry") }
        try await RawAPNs.run(options) { apns in
            let outcomes = OutcomeCollector()
            let provider = try TestedProvider(apns.configuration(.certificate(apns.credentials.client), outcomes))
            try await Harness.submit(0..<10, to: provider)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.outcomes.confirmed == 10)
            #expect(apns.requests.allSatisfy { $0.fields["authorization"] == nil })
        }
    }

    @Test func `who awaits a notification gets its outcome`() async throws {
        try await RawAPNs.run { apns in
            let configuration = try apns.configuration(nil, OutcomeCollector())
            let outcome = try await withProvider(configuration.tested) { provider in
                try await provider.send(PushNotification(json: #"{"aps":{}}"#.utf8), to: Harness.device(1))
            }
            #expect(outcome == .accepted(.confirmed))
        }
    }

    @Test(arguments: [-1, 0, 65_536, 70_000])
    func `a port that is none is refused at once`(port: Int) throws {
        let credentials = try TestCredentials()
        var configuration = HTTP2Configuration(
            host: "127.0.0.1",
            port: port,
            credentials: .certificate(credentials.client),
            outcomes: .discard
        )
        configuration.rejectUnauthorized = false
        #expect(throws: ConfigurationError.self) { try HTTP2Provider(configuration) }
    }

    @Test func `an APNs that stays silent yields outcomes in time`() async throws {
        try await RawAPNs.run { _ in
            nil
        } _: { apns in
            let outcomes = OutcomeCollector()
            var configuration = try apns.configuration(nil, outcomes)
            configuration.options.attemptTimeout = .milliseconds(100)
            configuration.options.deadline = .milliseconds(500)
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<10, to: provider)
            await outcomes.count(reaches: 10)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.outcomes.settled == 10)
            #expect(report.outcomes.accepted == 0)
        }
    }

    @Test func `a server without HTTP/2 is one clear error`() async throws {
        var options = RawAPNs.Options()
        options.applicationProtocols = []
        try await RawAPNs.run(options) { apns in
            let outcomes = OutcomeCollector()
            let provider = try TestedProvider(apns.configuration(nil, outcomes))
            let events = provider.events(bufferingNewest: 100)
            try await Harness.submit(0..<10, to: provider)
            await outcomes.count(reaches: 10)
            _ = await provider.shutDown(within: Harness.forever)
            #expect(outcomes.all.values.allSatisfy { $0 == [.undelivered(.noConnection)] })
            let errors = Self.socketErrors(await events.all())
            #expect(!errors.isEmpty)
            for error in errors {
                #expect(error.code == .connectFailed)
                #expect(error.message.contains("127.0.0.1:\(apns.port) speaks TLS, but not HTTP/2"))
            }
        }
    }

    @Test func `a server that wants a certificate says so when there is a token only`() async throws {
        var options = RawAPNs.Options()
        let authority = try TestCredentials()
        options.clientCertificates = .required(authority.trustRoots)
        try await RawAPNs.run(options) { apns in
            let outcomes = OutcomeCollector()
            var configuration = try apns.configuration(nil, outcomes)
            configuration.tlsVersions = .tls12 ... .tls12
            let provider = try TestedProvider(configuration)
            let events = provider.events(bufferingNewest: 100)
            try await Harness.submit(0..<10, to: provider)
            await outcomes.count(reaches: 10)
            _ = await provider.shutDown(within: Harness.forever)
            #expect(outcomes.all.values.allSatisfy { $0 == [.undelivered(.credentials)] })
            let errors = await events.all().compactMap { if case .error(let error) = $0 { error } else { nil } }
            #expect(errors.map(\.code) == Arrangement.current.perLoop(.credentialsRejected))
            #expect(errors.first?.message.contains("wants a client certificate") == true)
        }
    }

    @Test func `a gateway of the binary protocol is named before the certificate that it wants`() async throws {
        var options = RawAPNs.Options()
        options.clientCertificates = .required(try TestCredentials().trustRoots)
        options.applicationProtocols = []
        try await RawAPNs.run(options) { apns in
            for version in [TLSVersion.tls12, .tls13] {
                let outcomes = OutcomeCollector()
                var configuration = try apns.configuration(nil, outcomes)
                configuration.tlsVersions = version...version
                let provider = try TestedProvider(configuration)
                try await Harness.submit(0..<3, to: provider)
                await outcomes.count(reaches: 3)
                let error = provider.lastError
                #expect(error?.message.contains("speaks TLS, but not HTTP/2") == true, "\(error?.message ?? "")")
                #expect(error?.isLasting == true)
                #expect(outcomes.all.values.allSatisfy { $0 == [.undelivered(.noConnection)] })
                _ = await provider.shutDown(within: Harness.forever)
            }
        }
    }

    @Test func `dropping the last reference gives everything its outcome`() async throws {
        try await RawAPNs.run { _ in
            nil
        } _: { apns in
            let outcomes = OutcomeCollector()
            do {
                let provider = try TestedProvider(apns.configuration(nil, outcomes))
                try await Harness.submit(0..<10, to: provider)
            }
            await outcomes.count(reaches: 10)
            let causes: Set<Outcome> = [.undelivered(.released), .uncertain(.released)]
            #expect(outcomes.all.values.allSatisfy { $0.count == 1 && causes.contains($0[0]) })
        }
    }

    @Test func `settings that cannot be are refused in a sentence`() throws {
        let credentials = try TestCredentials()
        let source = try ProviderTokenSource(
            key: credentials.tokenKey,
            keyID: credentials.keyID,
            teamID: credentials.teamID
        )
        func error(_ change: (inout HTTP2Configuration) -> Void) -> String? {
            var configuration = HTTP2Configuration(production: false, credentials: .token(source), outcomes: .discard)
            change(&configuration)
            do {
                _ = try HTTP2Provider(configuration)
                return nil
            } catch {
                return "\(error)"
            }
        }
        #expect(error { _ in } == nil)
        #expect(error { $0.topic = "com example" }?.contains("topic") == true)
        #expect(error { $0.proxy = HTTPProxy(host: "proxy", port: 0) }?.contains("port of the proxy") == true)
        #expect(error { $0.proxy = HTTPProxy(host: "a\r\nb", port: 1) }?.contains("host name") == true)
        #expect(
            error { $0.proxy = HTTPProxy(host: "proxy", port: 1, userName: "a:b", password: "c") }?.contains("colon")
                == true
        )
        #expect(
            error {
                $0.proxy = HTTPProxy(host: "proxy", port: 1)
                $0.host = "x HTTP/1.1\r\nA: b"
            }?.contains("host name") == true
        )
    }

    @Test func `Apple's hosts and ports are the documented ones`() throws {
        let credentials = try TestCredentials()
        let production = HTTP2Configuration(
            production: true,
            credentials: .certificate(credentials.client),
            outcomes: .discard
        )
        let sandbox = HTTP2Configuration(
            production: false,
            credentials: .certificate(credentials.client),
            outcomes: .discard
        )
        #expect(production.host == "api.push.apple.com")
        #expect(sandbox.host == "api.sandbox.push.apple.com")
        #expect(production.port == 443)
        #expect(HTTP2Configuration.alternativePort == 2197)
    }
}
