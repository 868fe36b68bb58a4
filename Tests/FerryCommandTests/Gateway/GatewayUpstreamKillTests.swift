import Ferry
import FerryTesting
import Foundation
import Testing

/// The gateway while its upstream is killed and started again.
@Suite(.timeLimit(.minutes(10))) struct GatewayUpstreamKillTests {
    /// `FERRY_KILLS=10` is the whole test.
    private static let kills = ProcessInfo.processInfo.environment["FERRY_KILLS"].flatMap(Int.init) ?? 2
    /// The notifications that arrive before the next kill.
    private static let each = 300

    /// What became of one notification.
    private struct Course: CustomStringConvertible {
        var identifiers: [String?] = []
        var uncertain = 0
        var deadLetters = 0

        /// Each arrival beyond the first has a line `uncertain`, and so has each dead letter. Nothing is nowhere.
        var isAsPromised: Bool {
            (1...1 + self.uncertain).contains(self.identifiers.count + self.deadLetters)
                && self.deadLetters <= self.uncertain && self.uncertain <= 1 && Set(self.identifiers).count <= 1
        }

        /// Whether its copy has arrived, too, if there is one, or it is a dead letter.
        var isOver: Bool { self.identifiers.count > 0 || self.deadLetters > 0 }

        var description: String {
            "\(self.identifiers) arrived, \(self.uncertain) uncertain, \(self.deadLetters) dead letters"
        }
    }

    @Test func `after each kill of the upstream, all is accepted, listed or repeated, and the sum is exact`()
        async throws
    {
        try await GatewayHarness.run { harness in
            let recorder = APNsMemoryRecorder()
            var configuration = SimulatedAPNs.Configuration(credentials: harness.credentials)
            configuration.recorder = recorder
            let count = (Self.kills + 1) * Self.each
            configuration.script.rules = try Self.rules(before: 1)
            var apns = try await SimulatedAPNs.start(configuration)
            configuration.port = apns.port
            let (gateway, port) = try await harness.start(
                port: apns.port,
                ["rejections": #""list""#, "store": #"{"path": "gateway.db"}"#]
            )
            async let pushed = harness.push(1...count, to: port)
            for kill in 1...Self.kills {
                #expect(try await eventually { recorder.requests.count >= kill * Self.each })
                await apns.stop(within: .zero)
                configuration.script.rules = try Self.rules(before: kill + 1)
                apns = try await SimulatedAPNs.start(configuration)
            }
            let output = try await pushed
            #expect(output.status == 0 && output.settled == count, "\(output)")
            var courses: [String: Course] = [:]
            #expect(
                try await eventually {
                    courses = try Self.courses(recorder, harness)
                    return courses.count == count && courses.allSatisfy { $0.value.isOver }
                }
            )
            gateway.terminate()
            let end = try await gateway.output()
            #expect(end.status == 0)
            await apns.stop()
            courses = try Self.courses(recorder, harness)
            let faulty = courses.filter { !$0.value.isAsPromised }
            #expect(faulty.isEmpty, "\(faulty)")
            #expect(Set(courses.keys) == Set((1...count).map { PushHarness.token($0) }))
            let uncertain = courses.values.reduce(0) { $0 + $1.uncertain }
            let deadLetters = courses.values.reduce(0) { $0 + $1.deadLetters }
            #expect(uncertain > 0)
            let sum =
                "ferry: read \(count), of which 0 were copies; \(count - deadLetters) accepted, 0 rejected, 0 gone, "
                + "\(uncertain) sent once more, which may have arrived twice; 0 error responses\n"
            #expect(end.messages.hasSuffix(sum), "\(sum)\(end.messages)")
        }
    }

    /// Before each kill, APNs takes ten notifications and never answers them: they are under way at the kill.
    private static func rules(before kill: Int) throws -> [HTTP2Rule] {
        guard kill <= Self.kills else { return [] }
        let last = kill * Self.each
        let late = try (last - 9...last).map { try DeviceToken(hex: PushHarness.token($0)) }
        return [HTTP2Rule(tokens: Set(late), status: 200, delay: .seconds(3600))]
    }

    private static func courses(_ recorder: APNsMemoryRecorder, _ harness: GatewayHarness) throws -> [String: Course] {
        var courses: [String: Course] = [:]
        for request in recorder.requests {
            courses[request.token.hex, default: Course()].identifiers.append(request.accepted.apnsID)
        }
        guard FileManager.default.fileExists(atPath: harness.directory.path("list")) else { return courses }
        for line in try harness.directory.read("list").split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            let token = try #require(object?["token"] as? String)
            switch object?["event"] as? String {
            case "uncertain": courses[token, default: Course()].uncertain += 1
            case "deadLetter": courses[token, default: Course()].deadLetters += 1
            default: Issue.record("an unexpected line: \(line)")
            }
        }
        return courses
    }
}
