import Ferry
import FerryCore
import FerryMachine
import FerryOpenSSL
import FerryTesting
import Foundation
import Logging
import Testing

@testable import FerryGateway

/// A gateway with a SQLite store, an APNs that is killed again and again, and clients of every manner.
struct ChaosRun {
    /// How long the gateway may take for its final answers. A device that was busy waits five minutes for its next try.
    private static let limit: Duration = .seconds(900)
    private static let topic = "com.example.app"

    let site: ChaosSite
    let apns: ChaosAPNs
    let gateway: Gateway
    private let storePath: String
    private let configuration: Gateway.Configuration

    /// Runs the chaos, and then `body` when every client has gone and APNs has no trouble any more.
    static func run(
        _ duration: Duration,
        seed: UInt64,
        keepsWords: Bool,
        _ body: (ChaosRun, ChaosReport) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-chaos-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let run = try await ChaosRun(duration, directory.appending(path: "gateway.db").path, keepsWords: keepsWords)
        do {
            let report = ChaosReport(run)
            try await run.chaos(seed: seed, report)
            try await body(run, report)
        } catch {
            await run.stop()
            throw error
        }
        await run.stop()
    }

    private init(_ duration: Duration, _ storePath: String, keepsWords: Bool) async throws {
        let pace = ChaosPace(duration)
        let authority = try ThrowAwayCA()
        let credentials = try TestCredentials(authority: authority, topic: Self.topic, key: .p256)
        let identities = try ChaosManner.allCases.map { _ in try authority.client(topic: Self.topic) }
        let account = ChaosAccount(
            capacity: Int(duration.components.seconds + 60) * ChaosPace.mostPushesPerSecond,
            keepsWords: keepsWords
        )
        self.apns = try await ChaosAPNs.start(credentials, account)
        var configuration = Gateway.Configuration(
            identity: credentials.server,
            clients: GatewayClients(
                identities.enumerated().map { (.fingerprints([$0.element.summary.fingerprint]), $0.offset) }
            ),
            identities: ChaosManner.allCases.map { ClientIdentity(name: "\($0)", routes: [0]) },
            routes: [Route(upstream: 0, topic: Array(Self.topic.utf8))]
        )
        configuration.feedbackPort = 0
        configuration.store = SQLiteStore(path: storePath)
        configuration.onEvent = { event, _ in account.noted(event) }
        self.configuration = configuration
        self.storePath = storePath
        self.gateway = try await Self.gateway(configuration, self.apns, credentials, account, pace)
        self.site = ChaosSite(
            host: self.gateway.host,
            port: self.gateway.port,
            feedbackPort: try #require(self.gateway.feedbackPort),
            credentials: credentials,
            identities: identities,
            contexts: try identities.map {
                try TLSContext(
                    client: .init(trustRoots: credentials.trustRoots, identity: $0, versions: .tls12 ... .tls12)
                )
            },
            account: account,
            pace: pace
        )
    }

    private static func gateway(
        _ configuration: Gateway.Configuration,
        _ apns: ChaosAPNs,
        _ credentials: TestCredentials,
        _ account: ChaosAccount,
        _ pace: ChaosPace
    ) async throws -> Gateway {
        let doubts = ChaosUpstream.Doubts(account)
        let tokens = try ProviderTokenSource(
            key: credentials.tokenKey,
            keyID: credentials.keyID,
            teamID: credentials.teamID
        )
        var upstream = HTTP2Configuration(
            host: "127.0.0.1",
            port: apns.port,
            credentials: .token(tokens),
            outcomes: .sink(doubts)
        )
        upstream.trustRoots = credentials.trustRoots
        upstream.serverName = "localhost"
        upstream.logger = Logger(label: "chaos") { _ in SwiftLogNoOpLogHandler() }
        upstream.options.connectTimeout = .seconds(2)
        upstream.options.attemptTimeout = pace.patience
        upstream.options.deadline = pace.patience
        upstream.options.backOff = .milliseconds(50) ... .seconds(1)
        upstream.options.circuitBreaker = nil
        let provider = ChaosUpstream(try HTTP2Provider(upstream), doubts)
        let forwarding = GatewayUpstream(provider, outcomes: doubts.outcomes) { [upstream] ended in
            let doubts = ChaosUpstream.Doubts(account)
            var side = upstream
            side.outcomes = .sink(doubts)
            side.observer = ConnectionEnds(ended)
            return (try? HTTP2Provider(side)).map { .init(ChaosUpstream($0, doubts), outcomes: doubts.outcomes) }
        }
        return try await Gateway.start(configuration, upstreams: [forwarding])
    }

    /// The bytes of the store's file and of its log.
    var storeLength: Int {
        ["", "-wal"].reduce(0) { sum, ending in
            let attributes = try? FileManager.default.attributesOfItem(atPath: self.storePath + ending)
            return sum + (attributes?[.size] as? Int ?? 0)
        }
    }

    private func chaos(seed: UInt64, _ report: ChaosReport) async throws {
        var random = SplitMix64(seed: seed)
        let end = ContinuousClock.now + self.site.pace.duration
        try await withThrowingTaskGroup { group in
            let apnsSeed = random.next()
            group.addTask { try await self.apns.run(self.site.pace, until: end, seed: apnsSeed) }
            for _ in 0..<ChaosPace.clients {
                let clientSeed = random.next()
                group.addTask {
                    var clients = ChaosClients(self.site, until: end, seed: clientSeed)
                    await clients.run()
                }
            }
            group.addTask { try await report.eachMinute(until: end) }
            try await group.waitForAll()
        }
    }

    /// Waits until everything that was read has its final answer.
    ///
    /// - Returns: false when the limit passed first.
    func becomesIdle() async throws -> Bool {
        let end = ContinuousClock.now + Self.limit
        while try await self.gateway.counts.unanswered > 0 {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    /// Reads the feedback lists until every row was read. A reader that broke off may keep its rows for a minute.
    ///
    /// - Returns: false when the limit passed first.
    func hasReadEveryRow() async throws -> Bool {
        let end = ContinuousClock.now + Self.limit
        repeat {
            for manner in ChaosManner.allCases { try await self.site.readFeedback(of: manner) }
            let tally = self.site.account.tally
            if tally.gone == tally.read { return true }
        } while ContinuousClock.now < end
        return false
    }

    /// Starts another gateway on the store, and ends it at once.
    ///
    /// - Returns: its counts, and the rows of its feedback lists.
    func startAgain() async throws -> (counts: FateCounts, rows: Int) {
        var configuration = self.configuration
        let store = SQLiteStore(path: self.storePath)
        configuration.store = store
        let (credentials, account) = (self.site.credentials, self.site.account)
        let gateway = try await Self.gateway(configuration, self.apns, credentials, account, self.site.pace)
        let (counts, rows) = (try await gateway.counts, try await store.rows(.feedback))
        _ = await gateway.shutDown(within: .seconds(60))
        return (counts, rows.count)
    }

    private func stop() async {
        _ = await self.gateway.shutDown(within: .zero)
        await self.apns.stop()
    }
}
