import FerryHTTP1TestSupport
import FerryOpenSSL
import Foundation
import Testing

@testable import FerryAppStore

@Suite(.timeLimit(.minutes(10))) struct AppStoreRecoveryTests {
    private let signing: Signing
    private let authority: ThrowAwayCA
    private let time = TestTime()

    init() throws {
        self.signing = try Signing()
        self.authority = try ThrowAwayCA()
    }

    private func client(_ history: HistoryServer) throws -> AppStoreServerClient {
        var configuration = AppStoreServerClient.Configuration(
            environment: .production,
            bundleID: Signing.bundleID,
            issuerID: "I",
            keyID: "K",
            key: try .generate(),
            verifier: try self.signing.verifier()
        )
        configuration.baseURL = "\(try history.server.url())"
        configuration.trustRoots = self.authority.trustRoots
        return try AppStoreServerClient(configuration, time: self.time.time)
    }

    private func payloads(_ count: Int) throws -> [String] {
        try (0..<count).map { try self.signing.renewal(uuid: "R-\($0)", date: self.time.now - 3600) }
    }

    private func failure(
        _ body: () async throws(AppStoreRecoveryError) -> Void
    ) async -> AppStoreRecoveryError? {
        do throws(AppStoreRecoveryError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test
    func `missed notifications are stored, known ones are duplicates, and forged ones are set aside`() async throws {
        var payloads = try self.payloads(5)
        payloads.insert(try Signing().renewal(uuid: "FORGED"), at: 2)
        let history = try await HistoryServer.start(self.authority, .init(payloads: payloads))
        let sink = TestSink(["R-1"])
        let reports = Collected<AppStoreRecoveryReport>()
        var recovery = AppStoreRecovery(client: try self.client(history), sink: sink)
        recovery.progress = { reports.append($0) }
        let report = try await recovery.run(from: self.time.now - 86_400)
        #expect(sink.keys == ["R-1", "R-0", "R-2", "R-3", "R-4"])
        #expect(report.pages == 3)
        #expect(report.fetched == 6)
        #expect(report.stored == 4)
        #expect(report.duplicates == 1)
        #expect(report.setAsideCount == 1)
        #expect(report.setAside.first?.code == .forged)
        #expect(report.outOfReach == nil)
        #expect(report.isComplete)
        #expect(reports.all.map(\.fetched) == [2, 4, 6])
        #expect(Set(history.server.requests.map(\.body)).count == 1)
        await history.server.stop()
    }

    @Test func `notifications that the sink refuses are set aside, and the others are stored`() async throws {
        let history = try await HistoryServer.start(self.authority, .init(payloads: try self.payloads(5)))
        let sink = TestSink(refused: ["R-1", "R-4"])
        let report = try await AppStoreRecovery(client: try self.client(history), sink: sink)
            .run(from: self.time.now - 86_400)
        #expect(sink.keys == ["R-0", "R-2", "R-3"])
        #expect(report.stored == 3)
        #expect(report.setAside == [.init(code: .otherEnvironment, reason: "It is of the sandbox.", count: 2)])
        #expect(report.isComplete)
        await history.server.stop()
    }

    @Test func `the report counts the notifications that Apple would still repeat`() async throws {
        let attempt = (self.time.now - 600).milliseconds
        var script = HistoryServer.Script(payloads: try self.payloads(3))
        script.attempts = #"[{"attemptDate":\#(attempt),"sendAttemptResult":"NO_RESPONSE"}]"#
        let history = try await HistoryServer.start(self.authority, script)
        let recovery = AppStoreRecovery(client: try self.client(history), sink: TestSink(["R-2"]))
        let report = try await recovery.run(from: self.time.now - 86_400)
        #expect(report.stored == 2)
        #expect(report.stillComing == 2)
        await history.server.stop()
    }

    @Test func `a stopped recovery goes on with its page`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let history = try await HistoryServer.start(self.authority, .init(payloads: try self.payloads(6)))
        let client = try self.client(history)
        let sink = TestSink()
        let path = "\(directory)/recovery.json"
        var recovery = AppStoreRecovery(client: client, sink: sink, checkpoint: path)
        recovery.progress = { report in
            if report.pages == 2 {
                history.change { $0.failures = [.json(400, #"{"errorCode":4000006}"#)] }
            }
        }
        let from = self.time.now - 86_400
        let error = await self.failure { () async throws(AppStoreRecoveryError) in
            _ = try await recovery.run(from: from)
        }
        #expect(error?.code == .serverFailed)
        #expect(error?.report?.stored == 4)
        #expect(sink.keys.count == 4)
        recovery.progress = nil
        let report = try await recovery.run()
        #expect(report.stored == 6)
        #expect(report.duplicates == 0)
        #expect(report.pages == 3)
        #expect(history.server.requests.last?.uri.hasSuffix("=p2") == true)
        #expect(history.server.requests.count == 4)
        // Complete: the next one reads what follows.
        let next = try await recovery.run()
        #expect(next.window.lowerBound < report.window.upperBound)
        #expect(next.duplicates == 6)
        await history.server.stop()
    }

    @Test func `an expired page token begins the window anew, and the counts stay true`() async throws {
        let script = HistoryServer.Script(payloads: try self.payloads(6), expired: [2])
        let history = try await HistoryServer.start(self.authority, script)
        let sink = TestSink(["R-0"])
        let report = try await AppStoreRecovery(client: self.client(history), sink: sink).run(
            from: self.time.now - 86_400
        )
        #expect(report.restarts == 1)
        #expect(report.stored == 5)
        #expect(report.duplicates == 1)
        #expect(report.fetched == 6)
        await history.server.stop()
    }

    @Test
    func `a sink that fails for a while is tried again, and one that keeps failing stops the recovery`() async throws {
        let history = try await HistoryServer.start(self.authority, .init(payloads: try self.payloads(2)))
        let client = try self.client(history)
        let from = self.time.now - 86_400
        let weak = TestSink(failures: 3)
        #expect(try await AppStoreRecovery(client: client, sink: weak).run(from: from).stored == 2)
        #expect(self.time.waits == [.seconds(2), .seconds(4), .seconds(8)])
        let broken = TestSink(failures: 99)
        let error = await self.failure { () async throws(AppStoreRecoveryError) in
            _ = try await AppStoreRecovery(client: client, sink: broken).run(from: from)
        }
        #expect(error?.code == .sinkFailed)
        #expect(error?.description.contains("the disk is full") == true)
        #expect(error?.report?.isComplete == false)
        await history.server.stop()
    }

    @Test func `a recovery whose checkpoint cannot be written fetches nothing`() async throws {
        let history = try await HistoryServer.start(self.authority, .init(payloads: try self.payloads(2)))
        let recovery = AppStoreRecovery(
            client: try self.client(history),
            sink: TestSink(),
            checkpoint: "/nonexistent/recovery.json"
        )
        let error = await self.failure { () async throws(AppStoreRecoveryError) in
            _ = try await recovery.run(from: self.time.now - 86_400)
        }
        #expect(error?.code == .checkpointUnwritable)
        #expect(history.server.requests.isEmpty)
        await history.server.stop()
    }
}
