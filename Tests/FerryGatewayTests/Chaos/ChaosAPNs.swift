import Ferry
import FerryCore
import FerryMachine
import FerryTesting
import NIOCore
import Synchronization

/// An APNs that is killed and started again on its port, each time with another script.
final class ChaosAPNs: Sendable {
    let port: Int
    private let credentials: TestCredentials
    private let account: ChaosAccount
    private let running: Mutex<SimulatedAPNs?>
    private let lives = Mutex(1)

    var kills: Int { self.lives.withLock { $0 - 1 } }

    private init(_ apns: SimulatedAPNs, _ credentials: TestCredentials, _ account: ChaosAccount) {
        self.port = apns.port
        self.credentials = credentials
        self.account = account
        self.running = Mutex(apns)
    }

    /// Starts an APNs without trouble.
    static func start(_ credentials: TestCredentials, _ account: ChaosAccount) async throws -> ChaosAPNs {
        while true {
            // The system gives no port of this range to others while APNs is away.
            let port = Int.random(in: 20_000..<30_000)
            if let apns = try? await Self.start(HTTP2Script.usual(), credentials, account, port: port) {
                return ChaosAPNs(apns, credentials, account)
            }
        }
    }

    private static func start(
        _ script: HTTP2Script,
        _ credentials: TestCredentials,
        _ account: ChaosAccount,
        port: Int
    ) async throws -> SimulatedAPNs {
        var configuration = SimulatedAPNs.Configuration(credentials: credentials)
        configuration.port = port
        configuration.script = script
        configuration.recorder = account
        return try await SimulatedAPNs.start(configuration)
    }

    func stop() async { await self.running.withLock { $0.take() }?.stop() }

    /// Ends the present life. The next begins after a time.
    func restart(_ script: HTTP2Script, after absence: Duration = .zero) async throws {
        await self.stop()
        try? await Task.sleep(for: absence)
        let limit = ContinuousClock.now + .seconds(60)
        while true {
            do {
                let apns = try await Self.start(script, self.credentials, self.account, port: self.port)
                self.running.withLock { $0 = apns }
                return self.lives.withLock { $0 += 1 }
            } catch  where ContinuousClock.now < limit {
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Lives many lives until `end`, and then one without trouble.
    func run(_ pace: ChaosPace, until end: ContinuousClock.Instant, seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        while ContinuousClock.now < end {
            let life = ContinuousClock.now + .milliseconds(Int.random(in: pace.apnsLives, using: &random))
            try await Task.sleep(until: min(life, end), clock: .continuous)
            let isAway = Int.random(in: 0..<3, using: &random) == 0
            let absence = isAway ? Int.random(in: pace.absences, using: &random) : 0
            let script = HTTP2Script.chaotic(pace, using: &random)
            try await self.restart(script, after: .milliseconds(absence))
        }
        try await self.restart(.usual())
    }
}

extension HTTP2Script {
    /// The tokens say which answer they get.
    fileprivate static func usual() -> HTTP2Script {
        HTTP2Script(rules: [
            HTTP2Rule(prefix: [ChaosPush.Kind.bad.rawValue], reason: .badDeviceToken),
            HTTP2Rule(prefix: [ChaosPush.Kind.gone.rawValue], status: 410, reason: .unregistered),
        ])
    }

    fileprivate static func chaotic(_ pace: ChaosPace, using random: inout SplitMix64) -> HTTP2Script {
        var script = Self.usual()
        script.answerDelay = .milliseconds(Int.random(in: 0...300, using: &random))
        script.maxConcurrentStreams = [20, 100, 1000].randomElement(using: &random) ?? 1000
        if Int.random(in: 0..<12, using: &random) == 0 { script.handshake = .silent }
        // Rules about devices hold for a whole life; the others hold now and then.
        if pace.hasBusyDevices {
            for status in [429, 503] where Bool.random(using: &random) {
                let weather = UInt8.random(in: 0...255, using: &random)
                script.rules.append(HTTP2Rule(prefix: [ChaosPush.Kind.good.rawValue, weather], status: status))
            }
        }
        for rule in Self.faults(using: &random) where Int.random(in: 0..<3, using: &random) == 0 {
            script.rules.append(rule)
        }
        return script
    }

    private static func faults(using random: inout SplitMix64) -> [HTTP2Rule] {
        let lasts = HTTP2Rule.LastStream.allCases
        return [
            HTTP2Rule(every: .random(in: 20...200, using: &random), status: 503),
            HTTP2Rule(every: .random(in: 50...500, using: &random), status: 500, retryAfter: 1),
            HTTP2Rule(every: .random(in: 50...500, using: &random), action: .refuseStream),
            HTTP2Rule(every: .random(in: 50...500, using: &random), action: .resetAfterHeaders),
            HTTP2Rule(every: .random(in: 50...500, using: &random), action: .resetAfterHeaders, status: 500),
            HTTP2Rule(every: .random(in: 100...1000, using: &random), action: .silence),
            HTTP2Rule(every: .random(in: 100...1000, using: &random), action: .slowWindow),
            HTTP2Rule(
                every: .random(in: 50...1000, using: &random),
                action: .goAway,
                lastStream: lasts.randomElement(using: &random) ?? .all,
                closes: .random(using: &random)
            ),
            HTTP2Rule(every: .random(in: 20...500, using: &random), action: .reset),
            .end(by: .close, after: .random(in: 20...2000, using: &random)),
            .end(by: .stopReading, after: .random(in: 100...5000, using: &random)),
        ]
    }
}
