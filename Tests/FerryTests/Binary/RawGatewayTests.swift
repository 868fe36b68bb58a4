import Ferry
import FerryTesting
import Synchronization
import Testing

/// Tests with gateways that are strict, rude or broken in unusual ways.
@Suite(.serialized, .timeLimit(.minutes(10)), .inEveryArrangement, .namingTheArrangement)
struct RawGatewayTests {
    /// The notifications that a gateway read, by number.
    private final class Log: Sendable {
        let reads = Mutex<[Int: Int]>([:])

        func read(_ frame: RawGateway.Frame) {
            guard let number = frame.number else { return }
            self.reads.withLock { $0[number, default: 0] += 1 }
        }

        var all: [Int: Int] { self.reads.withLock { $0 } }
    }

    private static func response(_ status: UInt8, _ frame: RawGateway.Frame) -> [UInt8] {
        [8, status] + (frame[3] ?? [0, 0, 0, 0])
    }

    private func push(
        _ count: Int,
        to gateway: RawGateway,
        _ credentials: TestCredentials,
        finality: BinaryOptions.Finality = .proof,
        proof: Proof = .probe,
        _ configure: (inout BinaryConfiguration) -> Void = { _ in },
        until isDone: () -> Bool = { true }
    ) async throws -> (DrainReport, OutcomeCollector) {
        let outcomes = OutcomeCollector()
        var configuration = BinaryConfiguration(
            host: "127.0.0.1",
            port: gateway.port,
            identity: credentials.client,
            outcomes: .sink(outcomes)
        )
        configuration.trustRoots = credentials.trustRoots
        configuration.options.connectTimeout = Harness.forever
        configuration.options.settleTime = .seconds(1)
        configuration.options.finality = finality
        configuration.options.backOff = .milliseconds(20) ... .milliseconds(200)
        configure(&configuration)
        let provider = try TestedProvider(configuration)
        try await Harness.submit(0..<count, to: provider)
        while !isDone(), !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
        let report = await provider.shutDown(within: Harness.forever, proof: proof)
        #expect(report.outcomes.settled == count)
        #expect(outcomes.all.values.allSatisfy { $0.count == 1 })
        return (report, outcomes)
    }

    @Test func `a gateway that wants all five items and a client certificate gets them`() async throws {
        let log = Log()
        try await RawGateway.run { frame, _, _ in
            log.read(frame)
            let isComplete =
                frame.items.map(\.id) == [3, 1, 2, 4, 5] && frame.items.map(\.bytes.count) == [4, 32, 25, 4, 1]
            return isComplete ? [] : [.drop]
        } _: { gateway, credentials in
            let (report, _) = try await self.push(
                200,
                to: gateway,
                credentials,
                finality: .silence,
                proof: .silence
            )
            #expect(report.outcomes.presumed == 200)
            #expect(log.all.count == 200)
            #expect(gateway.connections == Arrangement.current.loops)
        }
    }

    @Test func `a gateway that wants a client certificate and gets none refuses`() async throws {
        try await RawGateway.run { _, _, _ in
            []
        } _: { gateway, credentials in
            let (report, outcomes) = try await self.push(10, to: gateway, credentials) { $0.identity = nil }
            #expect(outcomes.all.values.allSatisfy { $0 == [.undelivered(.credentials)] })
            #expect(report.lastError?.message.hasSuffix("Give the provider certificate and its key.") == true)
        }
    }

    @Test(arguments: [true, false])
    func `a gateway that half-closes in the middle leaves the position unknown`(isOrderly: Bool) async throws {
        let log = Log()
        try await RawGateway.run { frame, connection, place in
            if connection == 1, place > 50 { return [] }
            if frame.isProbe { return RawGateway.Action.answersToProbe }
            log.read(frame)
            guard connection == 1, place == 50 else { return [] }
            return [isOrderly ? .closeOutput : .endOutput]
        } _: { gateway, credentials in
            let (report, _) = try await self.push(200, to: gateway, credentials) {
                // The settle time is long, so that no probe is sent before the first connection ends.
                $0.options.settleTime = .seconds(5)
            } until: {
                log.all.count == 200
            }
            #expect(report.outcomes.confirmed == 200)
            #expect(Set(log.all.keys) == Set(0..<200))
            #expect(log.all.values.allSatisfy { $0 <= 2 })
            #expect(gateway.connections >= 2)
        }
    }

    @Test func `an error response is read although the connection is dropped at once`() async throws {
        let log = Log()
        let dropped = Mutex<Int?>(nil)
        try await RawGateway.run { frame, connection, _ in
            if frame.number == 20 {
                dropped.withLock { $0 = connection }
                return [.write(Self.response(8, frame)), .endOutput]
            }
            if frame.isProbe { return RawGateway.Action.answersToProbe }
            if dropped.withLock({ $0 }) != connection { log.read(frame) }
            return []
        } _: { gateway, credentials in
            let (report, outcomes) = try await self.push(5000, to: gateway, credentials)
            #expect(outcomes.all[20]?.first?.isRejected == true)
            #expect(report.outcomes.accepted == 4999)
            #expect(log.all.values.allSatisfy { $0 == 1 })
        }
    }

    @Test(arguments: 1...5)
    func `a truncated error response is a close without a word, and a search for its cause`(length: Int) async throws {
        let log = Log()
        try await RawGateway.run { frame, _, _ in
            if frame.number == 6 {
                return [.later([.write(Array(Self.response(8, frame).prefix(length))), .closeOutput])]
            }
            if frame.isProbe { return RawGateway.Action.answersToProbe }
            log.read(frame)
            return []
        } _: { gateway, credentials in
            let (report, outcomes) = try await self.push(10, to: gateway, credentials)
            #expect(outcomes.all[6] == [.uncertain(.peerCloses)])
            #expect(report.outcomes.accepted == 9)
        }
    }

    @Test func `a web server is no gateway`() async throws {
        try await RawGateway.run { _, _, _ in
            [.write(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)), .closeOutput]
        } _: { gateway, credentials in
            let outcomes = OutcomeCollector()
            var configuration = BinaryConfiguration(host: "127.0.0.1", port: gateway.port, outcomes: .sink(outcomes))
            configuration.identity = credentials.client
            configuration.trustRoots = credentials.trustRoots
            configuration.options.connectTimeout = Harness.forever
            configuration.options.backOff = .milliseconds(10) ... .milliseconds(20)
            let provider = try TestedProvider(configuration)
            let events = provider.events(bufferingNewest: 1000)
            try await Harness.submit(0..<3, to: provider)
            let error = await events.first { if case .error = $0 { true } else { false } }
            guard case .error(let error) = error else {
                Issue.record("no error was raised")
                return
            }
            #expect(error.code == .protocolViolation)
            _ = await provider.shutDown(within: .zero)
            #expect(outcomes.all.values.allSatisfy { $0 == [.undelivered(.noConnection)] })
        }
    }

    @Test func `a response that drips is read`() async throws {
        try await RawGateway.run { frame, _, _ in
            if frame.isProbe { return RawGateway.Action.answersToProbe }
            return frame.number == 5 ? Self.response(8, frame).map { .write([$0]) } + [.closeOutput] : []
        } _: { gateway, credentials in
            let (report, outcomes) = try await self.push(20, to: gateway, credentials)
            #expect(outcomes.all[5]?.first?.isRejected == true)
            #expect(report.outcomes.accepted == 19)
        }
    }

    @Test func `a probe is answered by a gateway that knows no identifier for it`() async throws {
        try await RawGateway.run { frame, _, _ in
            frame.isProbe ? RawGateway.Action.answersToProbe : []
        } _: { gateway, credentials in
            let (report, _) = try await self.push(100, to: gateway, credentials, finality: .silence)
            #expect(report.outcomes.confirmed == 100)
        }
    }

    @Test func `a gateway that closes upon a probe has proved nothing`() async throws {
        let log = Log()
        try await RawGateway.run { frame, _, _ in
            log.read(frame)
            return frame.isProbe ? [.closeOutput] : []
        } _: { gateway, credentials in
            let (report, _) = try await self.push(100, to: gateway, credentials, finality: .silence) {
                // The settle time is long, so that silence settles nothing before the shutdown begins.
                $0.options.settleTime = .seconds(5)
            }
            #expect(report.outcomes.uncertain == 100)
            #expect(log.all.filter { $0.key != 0 }.values.allSatisfy { $0 == 1 })
        }
    }
}
