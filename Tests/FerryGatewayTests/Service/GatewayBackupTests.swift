import Ferry
import FerryAdmin
import FerryCore
import FerryHTTP1
import FerryTesting
import Foundation
import Testing

@testable import FerryGateway

/// A copy of the store of a gateway under load, and the gateway that starts with it.
@Suite(.timeLimit(.minutes(5))) struct GatewayBackupTests {
    private static func withDirectory(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory)
    }

    /// The end of the load.
    private final class End: Sendable {
        private let came = Locked(false)

        var hasCome: Bool { self.came.withLock { $0 } }

        func come() { self.came.withLock { $0 = true } }
    }

    /// Sends notifications until the end.
    private static func load(_ client: BinaryConfiguration, _ end: End) async throws -> DrainReport {
        let notification = try PushNotification(Payload(alert: "Hello"))
        return try await withProvider(client) { provider in
            var number = 1000
            while !end.hasCome {
                let first = number
                number += 20
                try await provider.submit(
                    contentsOf: (first..<number).map {
                        Submission(notification, to: try GatewayHarness.device($0), tag: PushTag(UInt64($0)))
                    }
                )
            }
            return await provider.shutDown(within: GatewayHarness.forever)
        }
    }

    /// The `apns-id` of each notification without an answer, by token.
    private static func waiting(_ gateway: Gateway) async throws -> [String: String] {
        let rows = try await gateway.waiting(after: WaitingPlace(), WaitingFilter(), limit: 1000).rows
        return Dictionary(rows.map { ($0.token, $0.apnsID) }, uniquingKeysWith: { first, _ in first })
    }

    /// The `apns-id` of each request, by token.
    private static func accepted(_ harness: GatewayHarness) -> [String: String] {
        Dictionary(
            harness.recorder.requests.map { ($0.token.hex, $0.accepted.apnsID ?? "") },
            uniquingKeysWith: { first, _ in first }
        )
    }

    @Test func `a copy under load starts elsewhere, and sends what had no answer with its apns-id`() async throws {
        try await Self.withDirectory { directory in
            let path = directory.appending(path: "gateway.db").path
            let target = directory.appending(path: "copy.db").path
            let silent = try (0..<3).map { try GatewayHarness.device($0) }
            var unanswered: [String: String] = [:]
            var answered: [String: String] = [:]
            var copiedAt: UInt32 = 0
            try await GatewayHarness.run([HTTP2Rule(tokens: Set(silent), action: .silence)]) {
                $0.store = SQLiteStore(path: path)
            } _: { harness in
                let notification = try PushNotification(Payload(alert: "Hello"))
                _ = try await withProvider(harness.client) { provider in
                    // APNs allows one request at a time until it has accepted one.
                    let first = Submission(notification, to: try GatewayHarness.device(999), tag: PushTag(999))
                    try await provider.submit(contentsOf: [first])
                    while try await harness.gateway.counts.accepted < 1 { await Task.yield() }
                    try await provider.submit(
                        contentsOf: silent.enumerated().map {
                            Submission(notification, to: $1, tag: PushTag(UInt64($0)))
                        }
                    )
                    return await provider.shutDown(within: GatewayHarness.forever)
                }
                while unanswered.count < 3 { unanswered = try await Self.waiting(harness.gateway) }
                let (client, end) = (harness.client, End())
                async let report = Self.load(client, end)
                while harness.recorder.requests.count < 500 { await Task.yield() }
                let copy = try await harness.gateway.copyStore(to: target)
                copiedAt = copy.copiedAt
                // The gateway goes on as if nothing had been.
                let count = harness.recorder.requests.count
                while harness.recorder.requests.count < count + 500 { await Task.yield() }
                end.come()
                let sent = try await report
                #expect(sent.unsettled == 0)
                #expect(harness.gateway.copiedAt == nil)
                answered = Self.accepted(harness)
                #expect(harness.events.all.allSatisfy { if case .storeTrouble = $0 { false } else { true } })
            }
            try await GatewayHarness.run {
                $0.store = SQLiteStore(path: target) { Issue.record("\($0)") }
            } _: { harness in
                #expect(harness.gateway.copiedAt == copiedAt)
                let recovered = try await harness.gateway.counts.recovered
                #expect(recovered >= 3)
                while harness.recorder.requests.count < recovered { await Task.yield() }
                let again = Self.accepted(harness)
                #expect(again.count == recovered && harness.recorder.requests.count == recovered)
                for (token, id) in unanswered { #expect(again[token] == id, "\(token)") }
                // What was answered after the copy goes out again, too, and has the same apns-id.
                for (token, id) in again where answered[token] != nil { #expect(answered[token] == id, "\(token)") }
            }
            // The note of the copy is gone with the first commit.
            try await GatewayHarness.run {
                $0.store = SQLiteStore(path: target)
            } _: { harness in
                #expect(harness.gateway.copiedAt == nil)
            }
        }
    }

    /// The copies of which the gateway was told.
    private final class Copies: Sendable {
        private let copies = Locked<[StoreCopy]>([])

        var paths: [String] { self.copies.withLock { $0.map(\.path) } }

        func append(_ copy: StoreCopy) { self.copies.withLock { $0.append(copy) } }
    }

    /// Serves the admin socket of a gateway.
    ///
    /// - Parameter limit: how long the answer to a copy may take.
    private static func withAdmin(
        _ harness: GatewayHarness,
        in directory: URL,
        within limit: Duration = GatewayAdmin.backupLimit,
        _ body: (AdminClient, Copies) async throws -> Void
    ) async throws {
        var around = GatewayAdmin.Surroundings(
            ProcessFacts(ferry: "1.0.0"),
            upstreams: [("apns", "\(harness.apns.host):\(harness.apns.port)")],
            watches: [harness.watch]
        )
        let copies = Copies()
        around.copied = { copies.append($0) }
        let admin = GatewayAdmin(harness.gateway, around, backupLimit: limit)
        let socket = directory.appending(path: "admin").path
        let server = try await AdminServer.start(.init(socketPath: socket)) { await admin.answer($0) }
        do {
            try await body(try AdminClient(socket: socket), copies)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private static func askForCopy(_ path: String, _ client: AdminClient) async throws -> (status: Int, body: String) {
        let answer = try await client.post("/backup", Array(path.utf8))
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    /// Keeps the thread of a store busy while `body` runs.
    private static func withHangingStore(_ store: SQLiteStore, _ body: () async throws -> Void) async throws {
        let gate = DispatchSemaphore(value: 0)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let hanging = Task {
            try await store.run { _ throws(StoreError) in
                begin.yield()
                gate.wait()
            }
        }
        for await _ in begun { break }
        do {
            try await body()
        } catch {
            gate.signal()
            throw error
        }
        gate.signal()
        try await hanging.value
    }

    @Test func `while the store hangs, a copy is answered within the limit, and each further one at once`()
        async throws
    {
        try await Self.withDirectory { directory in
            let store = SQLiteStore(path: directory.appending(path: "gateway.db").path)
            let target = directory.appending(path: "copy.db").path
            try await GatewayHarness.run {
                $0.store = store
            } _: { harness in
                try await Self.withAdmin(harness, in: directory, within: .milliseconds(50)) { client, copies in
                    try await Self.withHangingStore(store) {
                        let first = try await Self.askForCopy(target, client)
                        #expect(first.status == 503 && first.body.contains("and the copy goes on"))
                        let second = try await Self.askForCopy(target, client)
                        #expect(second.status == 503 && second.body.hasPrefix("Another copy of the store is being"))
                    }
                    // The first one goes on after its answer.
                    while copies.paths.isEmpty { await Task.yield() }
                    #expect(copies.paths == [target])
                }
            }
        }
    }

    @Test func `at the end of a gateway, a copy has its answer at once although the store hangs`() async throws {
        try await Self.withDirectory { directory in
            let store = SQLiteStore(path: directory.appending(path: "gateway.db").path)
            let target = directory.appending(path: "copy.db").path
            try await GatewayHarness.run {
                $0.store = store
            } _: { harness in
                try await Self.withAdmin(harness, in: directory) { client, copies in
                    try await Self.withHangingStore(store) {
                        async let first = Self.askForCopy(target, client)
                        while !store.desk.isMaking { await Task.yield() }
                        harness.gateway.giveUpCopy()
                        let answers = [try await first, try await Self.askForCopy(target, client)]
                        for answer in answers {
                            #expect(answer.status == 503 && answer.body.hasPrefix("The gateway ends"), "\(answer)")
                        }
                    }
                    while store.desk.isMaking { await Task.yield() }
                    #expect(copies.paths.isEmpty)
                    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
                    #expect(!names.contains { $0.hasPrefix("copy.db") }, "\(names)")
                }
            }
        }
    }

    @Test func `the admin socket makes a copy, and says why not`() async throws {
        try await Self.withDirectory { directory in
            let path = directory.appending(path: "gateway.db").path
            let target = directory.appending(path: "copy.db").path
            for store in [SQLiteStore(path: path), nil] {
                try await GatewayHarness.run {
                    $0.store = store
                } _: { harness in
                    try await Self.withAdmin(harness, in: directory) { client, copies in
                        var answers: [(status: Int, body: String)] = []
                        for body in [target, target, "copy.db", ""] {
                            answers.append(try await Self.askForCopy(body, client))
                        }
                        let read = try await client.get("/backup").status
                        #expect(read == 404)
                        guard store != nil else {
                            #expect(answers.allSatisfy { $0.status == 409 && $0.body.contains("nothing to copy") })
                            return
                        }
                        #expect(answers.map(\.status) == [200, 503, 400, 400])
                        #expect(copies.paths == [target])
                        #expect(answers[1].body == "\(target) exists already: name a file that does not exist.\n")
                    }
                }
            }
        }
    }
}
