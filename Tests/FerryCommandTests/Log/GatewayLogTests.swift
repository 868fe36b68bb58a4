import FerryCore
import FerryTerminal
import Foundation
import Testing

@testable import FerryCommand
@testable import FerryGateway

/// The log of the gateway as a program sees it.
@Suite(.timeLimit(.minutes(10))) struct GatewayLogTests {
    /// - Parameter hasPriority: whether `<n>` stands before each object.
    private static func objects(_ messages: String, hasPriority: Bool = false) throws -> [[String: Any]] {
        try messages.split(separator: "\n").map { line in
            if hasPriority { #expect(line.starts(with: #/<[3-6]>/#)) }
            let object = try JSONSerialization.jsonObject(with: Data(line.dropFirst(hasPriority ? 3 : 0).utf8))
            return try #require(object as? [String: Any])
        }
    }

    /// Starts a gateway with these options, and returns it with its port once it listens.
    private static func start(
        _ options: [String],
        _ harness: GatewayHarness,
        shell: String? = nil
    ) async throws -> (FerryProgram, Int) {
        let arguments = ["gateway", "--config", try harness.configuration()] + options
        let program = try FerryProgram(arguments, in: harness.directory, shell: shell)
        #expect(try await eventually { try program.result.hasSuffix("}\n") })
        let ports = try JSONDecoder().decode([String: Int].self, from: Data(program.result.utf8))
        return (program, try #require(ports["binary"]))
    }

    @Test func `an alarm has the upstream, the topic, the reason, and how many wait`() {
        let messages = Locked<[LogMessage]>([])
        let gateway = GatewayMessages(
            clients: ["shop"],
            firstTopics: [.init(upstream: 0, name: "com.example.shop")],
            upstreams: ["apns"],
            list: nil
        ) { message in
            messages.withLock { $0.append(message) }
        }
        var counts = FateCounts()
        counts.waiting = 120
        gateway.say(.alarm(upstream: 0, topic: "com.example.shop", .topicDisallowed), counts)
        gateway.say(.allClear(upstream: 0, topic: "com.example.shop"), counts)
        let told = messages.withLock { $0 }
        #expect(told.map(\.event) == ["topicAlarm", "topicAlarmOver"])
        #expect(told.map(\.level) == [.error, .notice])
        #expect(
            told.first?.members == [
                .upstream: .text("apns"), .topic: .text("com.example.shop"), .reason: .text("TopicDisallowed"),
                .waiting: .number(120),
            ]
        )
    }

    @Test func `with --log-format json each line of standard error is an object, also that of a failure`() async throws
    {
        try await GatewayHarness.run { harness in
            let json = ["--log-format", "json"]
            let (first, port) = try await Self.start(json, harness)
            _ = try await harness.push(1...1, to: port)
            #expect(try await eventually { try first.messages.contains(#""event":"upstream""#) })
            await first.killAndWait()
            // The kill may have cut the last line.
            let whole = try first.messages.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            let objects = try Self.objects(whole.joined(separator: "\n"))
            for object in objects {
                #expect(Set(["time", "level", "event", "message"]).isSubset(of: object.keys))
            }
            let trouble = objects.first { $0["event"] as? String == "upstream" }
            #expect(trouble?["upstream"] as? String == "apns")
            #expect(trouble?["level"] as? String == "warning")

            let (second, _) = try await Self.start(json, harness)
            second.terminate()
            let end = try Self.objects(try await second.output().messages).last
            #expect(end?["event"] as? String == "stopped")
            #expect(end?["read"] as? Int == 0)

            let broken = try harness.directory.write("broken.json", "{")
            let failed = try await FerryProgram.run(["gateway", "--config", broken] + json, in: harness.directory)
            #expect(failed.status == 2)
            #expect(try Self.objects(failed.messages).map { $0["event"] as? String } == ["failed"])
        }
    }

    @Test func `with --log-level error only alarms appear`() async throws {
        try await GatewayHarness.run { harness in
            let (program, _) = try await Self.start(["--log-level", "error"], harness)
            program.terminate()
            #expect(try await program.output().messages == "")
        }
    }

    @Test func `under the journal each line begins with its priority, and no object has a time`() async throws {
        try await GatewayHarness.run { harness in
            let journal = #"export JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2); exec "$@""#
            let (text, _) = try await Self.start([], harness, shell: journal)
            text.terminate()
            let lines = try await text.output().messages.split(separator: "\n")
            #expect(!lines.isEmpty && lines.allSatisfy { $0.starts(with: #/<[3-6]>ferry: /#) }, "\(lines)")
            let (json, _) = try await Self.start(["--log-format", "json"], harness, shell: journal)
            json.terminate()
            let objects = try Self.objects(try await json.output().messages, hasPriority: true)
            #expect(!objects.isEmpty && objects.allSatisfy { $0["time"] == nil && $0["level"] != nil })
        }
    }

    @Test func `a variable of another stream adds no priority`() async throws {
        try await GatewayHarness.run { harness in
            let (program, _) = try await Self.start([], harness, shell: #"export JOURNAL_STREAM=1:2; exec "$@""#)
            program.terminate()
            let lines = try await program.output().messages.split(separator: "\n")
            #expect(!lines.isEmpty && lines.allSatisfy { $0.hasPrefix("ferry: ") }, "\(lines)")
        }
    }
}
