import Ferry
import FerryCore
import FerryServiceWorld
import FerryTesting
import Foundation
import Testing

/// Restarts of the gateway under load, by a parent that holds the socket as systemd does.
///
/// `.ci/restarts` runs it: a restart takes 5 s.
@Suite(.timeLimit(.minutes(60)), .enabled(if: ProcessInfo.processInfo.environment["FERRY_RESTARTS"] != nil))
struct GatewayRestartTests {
    private static let restarts = ProcessInfo.processInfo.environment["FERRY_RESTARTS"].flatMap(Int.init) ?? 2
    private static let store = ["store": #"{"path": "gateway.db"}"#] as [String: String?]

    /// The end of the load, for all who make it.
    private final class Load: Sendable {
        private let ended = Locked(false)

        var isOver: Bool { self.ended.withLock { $0 } }

        func end() { self.ended.withLock { $0 = true } }
    }

    /// Sends notifications while the load lasts, and returns their number.
    private static func send(
        _ first: Int,
        to port: Int,
        _ harness: GatewayHarness,
        _ load: Load
    ) async throws -> Int {
        var configuration = BinaryConfiguration(
            host: "127.0.0.1",
            port: port,
            identity: harness.credentials.client,
            outcomes: .discard
        )
        configuration.trustRoots = harness.credentials.trustRoots
        configuration.serverName = "localhost"
        configuration.options.connectionRetryLimit = nil
        configuration.options.connectTimeout = .seconds(60)
        let provider = try BinaryProvider(configuration)
        var count = 0
        while !load.isOver {
            let submissions = try (0..<10).map { index in
                let number = first + count + index
                return Submission(
                    try PushNotification(json: #"{"aps":{"badge":\#(number)}}"#.utf8),
                    to: try DeviceToken(hex: PushHarness.token(number)),
                    tag: PushTag(UInt64(number))
                )
            }
            try await provider.submit(contentsOf: submissions)
            count += submissions.count
            try await Task.sleep(for: .milliseconds(10))
        }
        let report = await provider.shutDown(within: .seconds(120), proof: .silence)
        #expect(report.unsettled == 0, "\(report)")
        return count
    }

    /// Visits the gateway again and again, and returns how long each handshake took; nil for one that was refused.
    private static func visit(
        _ port: Int,
        _ harness: GatewayHarness,
        _ load: Load
    ) async throws -> [Duration?] {
        try await withThrowingTaskGroup(of: Duration?.self) { group in
            while !load.isOver {
                group.addTask {
                    let begin = ContinuousClock.now
                    do {
                        let visitor = try await Visitor(harness.credentials, port: port)
                        let isServed = try await visitor.shakeHands()
                        visitor.leave()
                        return isServed ? begin.duration(to: .now) : nil
                    } catch {
                        return nil
                    }
                }
                try await Task.sleep(for: .milliseconds(100))
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func start(_ harness: GatewayHarness, _ apns: Int, _ parent: ParentSocket) throws -> FerryProgram {
        try harness.begin(port: apns, Self.store, input: parent.input, shell: ParentSocket.shell())
    }

    @Test func `restarts under load lose nothing, double nothing and refuse nobody`() async throws {
        try await GatewayHarness.run { harness in
            let recorder = APNsMemoryRecorder()
            var simulated = SimulatedAPNs.Configuration(credentials: harness.credentials)
            simulated.recorder = recorder
            let apns = try await SimulatedAPNs.start(simulated)
            let parent = try ParentSocket()
            let (port, load) = (parent.port, Load())
            var gateway = try Self.start(harness, apns.port, parent)
            _ = try await harness.port(of: gateway)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for client in 0..<3 {
                    group.addTask {
                        try await Self.send(client * 10_000_000, to: port, harness, load)
                    }
                }
                async let visits = Self.visit(port, harness, load)
                for restart in 0..<Self.restarts {
                    let before = recorder.requests.count
                    #expect(try await eventually { recorder.requests.count > before + 500 })
                    var successor: FerryProgram?
                    if restart.isMultiple(of: 2) {
                        let waiting = try Self.start(harness, apns.port, parent)
                        #expect(try await eventually { try waiting.messages.contains("has the store; waits") })
                        successor = waiting
                    }
                    gateway.terminate()
                    let end = try await gateway.output()
                    #expect(end.status == 0, "\(end.messages)")
                    gateway = try successor ?? Self.start(harness, apns.port, parent)
                    _ = try await harness.port(of: gateway)
                }
                load.end()
                let waits = try await visits
                let sent = try await group.reduce(0, +)
                #expect(try await eventually(within: .seconds(60)) { recorder.requests.count >= sent })
                gateway.terminate()
                _ = try await gateway.output()
                let times = recorder.requests.reduce(into: [:]) { $0[$1.token, default: 0] += 1 }
                let doubled = times.count { $0.value > 1 }
                #expect(times.count == sent, "\(sent - times.count) lost")
                #expect(doubled == 0, "\(doubled) doubled")
                let served = waits.compactMap(\.self).sorted()
                #expect(served.count == waits.count, "\(waits.count - served.count) of \(waits.count) refused")
                // Those that came while a gateway served do not count.
                let waited = served.filter { $0 > .milliseconds(500) }
                let median = waited.isEmpty ? .zero : waited[waited.count / 2]
                print(
                    "\(Self.restarts) restarts: \(sent) sent, \(served.count) handshakes, of which \(waited.count) waited, "
                        + "half of them less than \(median), and \(String(describing: served.last)) at most"
                )
            }
            await apns.stop()
        }
    }
}
