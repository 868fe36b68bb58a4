import Ferry
import FerryAdmin
import FerryTesting
import Foundation
import Testing

/// The command `ferry gateway backup`, with real gateways.
@Suite(.timeLimit(.minutes(10))) struct GatewayBackupTests {
    private static let store = ["store": #"{"path": "gateway.db"}"#] as [String: String?]

    /// Runs the command on the gateway of the present configuration.
    private static func backUp(
        _ file: String,
        _ harness: GatewayHarness,
        _ more: String...
    ) async throws -> FerryProgram.Output {
        let configuration = ["--config", harness.directory.path("gateway.json")]
        return try await FerryProgram.run(
            ["gateway", "backup", harness.directory.path(file)] + configuration + more,
            in: harness.directory
        )
    }

    private static func apns(
        _ harness: GatewayHarness,
        _ recorder: APNsMemoryRecorder,
        _ rules: [HTTP2Rule] = []
    ) async throws -> SimulatedAPNs {
        var simulated = SimulatedAPNs.Configuration(credentials: harness.credentials)
        simulated.recorder = recorder
        simulated.script.rules = rules
        return try await SimulatedAPNs.start(simulated)
    }

    /// The tokens and `apns-id`s of what waits in the gateway.
    private static func waiting(_ harness: GatewayHarness) async throws -> [String: String] {
        let output = try await FerryProgram.run(
            ["gateway", "waiting", "--json", "--limit", "0", "--config", harness.directory.path("gateway.json")],
            in: harness.directory
        )
        #expect(output.status == 0, "\(output.messages)")
        var ids: [String: String] = [:]
        for line in output.result.split(separator: "\n").dropFirst() {
            let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            let token = try #require(row?["token"] as? String)
            ids[token] = try #require(row?["apnsId"] as? String)
        }
        return ids
    }

    @Test func `a copy of a gateway that runs starts elsewhere, and what had no answer goes out with its apns-id`()
        async throws
    {
        try await GatewayHarness.run { harness in
            let silent = try APNsHarness.tokens(1...3)
            let rule = HTTP2Rule(tokens: silent, action: .silence)
            let first = try await Self.apns(harness, APNsMemoryRecorder(), [rule])
            let (gateway, port) = try await harness.start(port: first.port, Self.store)
            _ = try await harness.push(1...3, to: port)
            // The command asks a gateway that works on others meanwhile.
            async let pushed = harness.push(4...2000, to: port)
            let copied = try await Self.backUp("copy.db", harness)
            #expect(copied.status == 0, "\(copied.messages)")
            #expect(copied.result.hasPrefix("\(harness.directory.path("copy.db")): the store of 2"))
            let mode = try harness.directory.mode("copy.db")
            #expect(mode == 0o600)
            let again = try await Self.backUp("copy.db", harness)
            #expect(again.status == 1 && again.messages.contains("copy.db exists already: name a file that"))
            _ = try await pushed
            let waiting = try await Self.waiting(harness)
            let messages = try gateway.messages
            #expect(messages.contains("the store was copied to \(harness.directory.path("copy.db"))"))
            await gateway.killAndWait()
            await first.stop()

            let recorder = APNsMemoryRecorder()
            let second = try await Self.apns(harness, recorder)
            let restored = try harness.begin(port: second.port, ["store": #"{"path": "copy.db"}"#])
            _ = try await harness.port(of: restored)
            #expect(try await eventually { silent.isSubset(of: Set(recorder.requests.map(\.token))) })
            for request in recorder.requests where silent.contains(request.token) {
                #expect(request.accepted.apnsID == waiting[request.token.hex])
            }
            #expect(try restored.messages.contains("the store is a copy of "))
            restored.terminate()
            #expect(try await restored.output().status == 0)
            // The note of the copy is gone.
            let next = try harness.begin(port: second.port, ["store": #"{"path": "copy.db"}"#])
            _ = try await harness.port(of: next)
            next.terminate()
            let messagesOfNext = try await next.output().messages
            #expect(!messagesOfNext.contains("the store is a copy of "))
            await second.stop()
        }
    }

    @Test func `without a gateway the command copies the store itself`() async throws {
        try await GatewayHarness.run { harness in
            let (gateway, _) = try await harness.start(Self.store)
            gateway.terminate()
            _ = try await gateway.output()
            let copied = try await Self.backUp("copy.db", harness, "--json")
            #expect(copied.status == 0, "\(copied.messages)")
            #expect(copied.summary["path"] as? String == harness.directory.path("copy.db"))
            #expect((copied.number("bytes") ?? 0) > 0 && (copied.number("copiedAt") ?? 0) > 1_700_000_000)
            let started = try harness.begin(["store": #"{"path": "copy.db"}"#])
            _ = try await harness.port(of: started)
            started.terminate()
            #expect(try await started.output().status == 0)
        }
    }

    @Test func `a gateway of an older version leads to the copy without a gateway`() async throws {
        try await GatewayHarness.run { harness in
            // A socket has a short path.
            let name = "ferry-\(UUID().uuidString.prefix(8))"
            let socket = FileManager.default.temporaryDirectory.appending(path: name).path
            let server = try await AdminServer.start(.init(socketPath: socket)) { _ in AdminAnswer.notFound }
            let output = try await FerryProgram.run(
                ["gateway", "backup", harness.directory.path("copy.db"), "--socket", socket],
                in: harness.directory
            )
            await server.stop()
            try? FileManager.default.removeItem(atPath: socket)
            #expect(output.status == 3 && output.messages.contains("Stop it, and run this command then, with --config"))
        }
    }

    @Test func `a store that is not there, a gateway without one, and one that is not found each have a sentence`()
        async throws
    {
        try await GatewayHarness.run { harness in
            _ = try harness.configuration(Self.store)
            let none = try await Self.backUp("copy.db", harness)
            #expect(none.status == 1 && none.messages.contains("There is no store at"))
            _ = try harness.configuration()
            let without = try await Self.backUp("copy.db", harness)
            #expect(without.status == 2 && without.messages.contains("has no 'store', so there is nothing to copy"))
            let (gateway, _) = try await harness.start(Self.store)
            let lost = try await Self.backUp("copy.db", harness, "--socket", harness.directory.path("other"))
            #expect(lost.status == 3 && lost.messages.contains("name its socket with --socket, or copy on the machine"))
            gateway.terminate()
            _ = try await gateway.output()
        }
    }
}
