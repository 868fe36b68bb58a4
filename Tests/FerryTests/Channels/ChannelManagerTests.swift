import Ferry
import FerryOpenSSL
import FerryProxyTestSupport
import FerryTesting
import Testing

/// Tests of the manager against a simulated APNs, over real sockets, TLS and HTTP/2.
@Suite(.timeLimit(.minutes(10)))
struct ChannelManagerTests {
    struct Fixture {
        var apns: SimulatedAPNs
        var credentials: TestCredentials

        func source() throws -> ProviderTokenSource {
            try ProviderTokenSource(
                key: self.credentials.tokenKey,
                keyID: self.credentials.keyID,
                teamID: self.credentials.teamID
            )
        }

        func configuration(
            _ credentials: HTTP2Configuration.Credentials? = nil
        ) throws -> ChannelManagerConfiguration {
            var configuration = ChannelManagerConfiguration(
                host: "127.0.0.1",
                port: self.apns.port,
                bundleID: "com.example.ferry",
                credentials: try credentials ?? .token(self.source())
            )
            configuration.trustRoots = self.credentials.trustRoots
            configuration.serverName = "localhost"
            configuration.connectTimeout = Harness.forever
            configuration.deadline = Harness.forever
            return configuration
        }

        func manager() throws -> ChannelManager { try ChannelManager(self.configuration()) }
    }

    static func with(_ rules: [HTTP2Rule] = [], _ body: (Fixture) async throws -> Void) async throws {
        let credentials = try TestCredentials()
        var configuration = SimulatedAPNs.Configuration(credentials: credentials)
        configuration.script.rules = rules
        let apns = try await SimulatedAPNs.start(configuration)
        do {
            try await body(Fixture(apns: apns, credentials: credentials))
        } catch {
            await apns.stop()
            throw error
        }
        await apns.stop()
    }

    private static func failure(
        _ body: () async throws(ChannelManagerError) -> Void
    ) async throws -> ChannelManagerError {
        do throws(ChannelManagerError) {
            try await body()
        } catch {
            return error
        }
        throw NoFailure()
    }

    private struct NoFailure: Error {}

    // MARK: Calls

    @Test func `a task that was cancelled before its call makes no channel`() async throws {
        try await Self.with { fixture in
            let manager = try fixture.manager()
            #expect(try await manager.list() == [])
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await Self.failure { () async throws(ChannelManagerError) in
                    _ = try await manager.create(.noMessageStored)
                }
            }
            let error = try await task.value
            #expect(error.code == .cancelled)
            #expect(!error.mayHaveTakenEffect)
            #expect(try await manager.list() == [])
            #expect(fixture.apns.counts.accepted == 2)
            await manager.shutDown()
        }
    }

    @Test func `the port of Apple's host for development is its own`() throws {
        let host = ChannelManagerConfiguration.sandboxHost
        let credentials = HTTP2Configuration.Credentials.token(ProviderTokenSource { "a.b.c" })
        let configuration = ChannelManagerConfiguration(host: host, bundleID: "a", credentials: credentials)
        #expect(configuration.port == ChannelManagerConfiguration.sandboxPort)
    }

    @Test func `channels are made, read, listed and deleted`() async throws {
        try await Self.with { fixture in
            let manager = try fixture.manager()
            let first = try await manager.create(.mostRecentMessageStored)
            let second = try await manager.create(.noMessageStored)
            let channel = try await manager.read(first)
            #expect(channel.id == first)
            #expect(channel.storagePolicy == .mostRecentMessageStored)
            #expect(channel.pushType == "LiveActivity")
            #expect(try await manager.read(second).storagePolicy == .noMessageStored)
            #expect(try await manager.list() == [first, second])
            try await manager.delete(first)
            #expect(try await manager.list() == [second])
            let error = try await Self.failure { () async throws(ChannelManagerError) in try await manager.delete(first)
            }
            #expect(error.reason == .channelNotRegistered)
            #expect(error.status == 400)
            await manager.shutDown()
            #expect(fixture.apns.counts.connections == 1)
        }
    }

    @Test func `a certificate speaks for the manager in place of a token`() async throws {
        try await Self.with { fixture in
            let manager = try ChannelManager(fixture.configuration(.certificate(fixture.credentials.client)))
            let id = try await manager.create(.noMessageStored)
            #expect(try await manager.list() == [id])
            await manager.shutDown()
        }
    }

    @Test func `10,000 channels are made and listed, and one more is refused`() async throws {
        try await Self.with { fixture in
            var configuration = try fixture.configuration()
            configuration.callLimit = 16
            let manager = try ChannelManager(configuration)
            let made = try await withThrowingTaskGroup(of: [ChannelID].self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        var ids: [ChannelID] = []
                        for _ in 0..<625 { ids.append(try await manager.create(.noMessageStored)) }
                        return ids
                    }
                }
                return try await group.reduce(into: Set<ChannelID>()) { $0.formUnion($1) }
            }
            #expect(made.count == 10_000)
            let listed = try await manager.list()
            #expect(listed.count == 10_000)
            #expect(Set(listed) == made)
            let error = try await Self.failure { () async throws(ChannelManagerError) in
                _ = try await manager.create(.noMessageStored)
            }
            #expect(error.reason == .cannotCreateChannelConfig)
            await manager.shutDown()
        }
    }

    @Test func `a lost answer to a creation makes one channel, which the list has`() async throws {
        try await Self.with([HTTP2Rule(channels: [.create], action: .loseAnswer)]) { fixture in
            let manager = try fixture.manager()
            let error = try await Self.failure { () async throws(ChannelManagerError) in
                _ = try await manager.create(.noMessageStored)
            }
            #expect(error.code == .connectionLost)
            #expect(error.mayHaveTakenEffect)
            #expect(try await manager.list().count == 1)
            await manager.shutDown()
        }
    }

    @Test func `silence ends at the deadline`() async throws {
        try await Self.with([HTTP2Rule(channels: [.create], action: .silence)]) { fixture in
            var configuration = try fixture.configuration()
            configuration.deadline = .seconds(1)
            let manager = try ChannelManager(configuration)
            let error = try await Self.failure { () async throws(ChannelManagerError) in
                _ = try await manager.create(.noMessageStored)
            }
            #expect(error.code == .timeout)
            await manager.shutDown()
        }
    }

    @Test func `a refused stream is repeated, except of a creation`() async throws {
        let rules = [
            HTTP2Rule(channels: [.list], times: 1, action: .refuseStream),
            HTTP2Rule(channels: [.create], times: 1, action: .refuseStream),
        ]
        try await Self.with(rules) { fixture in
            let manager = try fixture.manager()
            #expect(try await manager.list() == [])
            let error = try await Self.failure { () async throws(ChannelManagerError) in
                _ = try await manager.create(.noMessageStored)
            }
            #expect(error.code == .notProcessed)
            #expect(!error.mayHaveTakenEffect)
            #expect(try await manager.list() == [])
            await manager.shutDown()
        }
    }

    @Test(arguments: [HTTP2Rule.Action.close, .reset]) func `a connection that ends leaves a list without an answer`(
        action: HTTP2Rule.Action
    ) async throws {
        try await Self.with([HTTP2Rule(at: 2, times: 1, action: action)]) { fixture in
            let manager = try fixture.manager()
            _ = try await manager.list()
            let error = try await Self.failure { () async throws(ChannelManagerError) in _ = try await manager.list() }
            #expect(error.code == .connectionLost)
            #expect(!error.mayHaveTakenEffect)
            #expect(try await manager.list() == [])
            await manager.shutDown()
        }
    }

    // MARK: Connections

    @Test func `a server of an unknown authority is not trusted, and gets no token`() async throws {
        try await Self.with { fixture in
            var configuration = try fixture.configuration()
            configuration.trustRoots = try TestCredentials().trustRoots
            let manager = try ChannelManager(configuration)
            let error = try await Self.failure { () async throws(ChannelManagerError) in _ = try await manager.list() }
            #expect(error.code == .peerNotTrusted)
            await manager.shutDown()
            #expect(fixture.apns.counts.accepted == 0)
        }
    }

    @Test func `a port where nothing listens is said to be one`() async throws {
        try await Self.with { fixture in
            await fixture.apns.stop()
            let manager = try fixture.manager()
            let error = try await Self.failure { () async throws(ChannelManagerError) in
                _ = try await manager.create(.noMessageStored)
            }
            #expect(error.code == .connectFailed)
            #expect(!error.mayHaveTakenEffect)
            #expect(error.message.contains("Nothing listens there"))
            await manager.shutDown()
        }
    }

    @Test func `channels are managed through a proxy`() async throws {
        try await Self.with { fixture in
            try await TestProxy.run(.tunnelSlowly) { proxy in
                var configuration = try fixture.configuration()
                configuration.proxy = HTTPProxy(host: "127.0.0.1", port: proxy.port)
                let manager = try ChannelManager(configuration)
                #expect(try await manager.list() == [])
                await manager.shutDown()
            }
        }
    }

    // MARK: The end

    @Test func `more calls than allowed fail at once`() async throws {
        try await Self.with([HTTP2Rule(channels: [.list], action: .silence)]) { fixture in
            var configuration = try fixture.configuration()
            configuration.callLimit = 2
            let manager = try ChannelManager(configuration)
            let codes = await withTaskGroup(of: ChannelManagerError.Code?.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        try? await Self.failure { () async throws(ChannelManagerError) in _ = try await manager.list() }
                            .code
                    }
                }
                let first = await group.next() ?? nil
                group.cancelAll()
                return await group.reduce(into: [first]) { $0.append($1) }
            }
            #expect(codes == [.tooManyCalls, .cancelled, .cancelled])
            await manager.shutDown()
        }
    }

    @Test func `after a shutdown every call fails at once`() async throws {
        try await Self.with { fixture in
            let manager = try fixture.manager()
            _ = try await manager.list()
            await manager.shutDown()
            await manager.shutDown()
            let error = try await Self.failure { () async throws(ChannelManagerError) in _ = try await manager.list() }
            #expect(error.code == .shutDown)
        }
    }

    @Test func `a manager that is dropped closes its connection`() async throws {
        try await Self.with { fixture in
            weak var dropped: ChannelManager?
            do {
                let manager = try fixture.manager()
                _ = try await manager.list()
                dropped = manager
            }
            #expect(dropped == nil)
        }
    }

    // MARK: Configurations

    @Test func `the hosts and ports are Apple's`() throws {
        let credentials = HTTP2Configuration.Credentials.token(ProviderTokenSource { "a.b.c" })
        let production = ChannelManagerConfiguration(production: true, bundleID: "a", credentials: credentials)
        #expect(production.host == "api-manage-broadcast.push.apple.com")
        #expect(production.port == 2196)
        let sandbox = ChannelManagerConfiguration(production: false, bundleID: "a", credentials: credentials)
        #expect(sandbox.host == "api-manage-broadcast.sandbox.push.apple.com")
        #expect(sandbox.port == 2195)
        for configuration in [production, sandbox] { _ = try ChannelManager(configuration) }
    }

    @Test func `what cannot work is refused at once`() throws {
        let credentials = HTTP2Configuration.Credentials.token(ProviderTokenSource { "a.b.c" })
        func code(_ change: (inout ChannelManagerConfiguration) -> Void) -> ConfigurationError.Code? {
            var configuration = ChannelManagerConfiguration(production: true, bundleID: "a", credentials: credentials)
            change(&configuration)
            do {
                _ = try ChannelManager(configuration)
                return nil
            } catch {
                return (error as? ConfigurationError)?.code
            }
        }
        #expect(code { $0.bundleID = "" } == .malformedBundleID)
        #expect(code { $0.bundleID = "a/b" } == .malformedBundleID)
        #expect(code { $0.host = HTTP2Configuration.productionHost } == .wrongService)
        #expect(code { $0.host = BinaryConfiguration.productionHost } == .wrongService)
        #expect(code { $0.host = "https://example.com" } == .malformedHost)
        #expect(code { $0.port = 0 } == .invalidPort)
        #expect(code { $0.proxy = HTTPProxy(host: "a\nb", port: 1) } == .invalidProxy)
        #expect(throws: ConfigurationError.self) {
            try HTTP2Provider(
                HTTP2Configuration(
                    host: ChannelManagerConfiguration.productionHost,
                    credentials: credentials,
                    outcomes: .discard
                )
            )
        }
    }
}
