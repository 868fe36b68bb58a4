import FerryAppStore
import FerryAppStoreTesting
import FerryCore
import FerryOpenSSL
import FerryTesting
import Foundation
import Testing

/// A receiver that is down for a while, over sockets and in virtual time: what is lost is what ``RetrySchedule`` says, and
/// the recovery fetches the rest.
///
/// `FERRY_APP_STORE_COUNT` sets the number of notifications for each outage; 10,000 take some minutes.
@Suite(.timeLimit(.minutes(60))) struct OutageTests {
    private static let count = Int(ProcessInfo.processInfo.environment["FERRY_APP_STORE_COUNT"] ?? "") ?? 300
    private static let app = AppStoreApp(bundleID: "com.example.app", appAppleID: 1_234_567_890)
    /// Within the 30 days of the sandbox's history.
    private static let start = Date(
        timeIntervalSince1970: (Date.now.timeIntervalSince1970 - 28 * 86_400).rounded(.down)
    )

    /// What the application has seen.
    private final class Application: Sendable {
        private let seen = Locked<[String: Int]>([:])

        func take(_ uuid: String) { self.seen.withLock { $0[uuid, default: 0] += 1 } }
        var counts: [String: Int] { self.seen.withLock(\.self) }
    }

    private final class Sink: AppStoreNotificationSink {
        private let receiver: AppStoreReceiver

        init(_ receiver: AppStoreReceiver) { self.receiver = receiver }

        func take(_ notification: AppStoreNotification, signedPayload: String) async -> AppStoreSinkAnswer {
            let status = await self.receiver.answer(to: AppStoreRequest(body: Signing.post(signedPayload)))
            return status == 200 ? .stored : .failed("\(status)")
        }
    }

    @Test(
        arguments: [1, 13, 84, 156, 158],
        [AppStoreEnvironment.production, .sandbox]
    )
    func `notifications lost in an outage are recovered, and the application sees each once`(
        hours: Int,
        environment: AppStoreEnvironment
    ) async throws {
        struct Down: Error {}
        let begin = Self.start.addingTimeInterval(20 * 3600)
        let outage = begin..<begin.addingTimeInterval(Double(hours) * 3600)
        var maker = try NotificationMaker(app: Self.app, environment: environment, seed: UInt64(hours))
        var configuration = AppStoreVerifier.Configuration(apps: [Self.app])
        configuration.trustRoots = .pem(maker.signer.rootPEM)
        let verifier = try AppStoreVerifier(configuration)
        let application = Application()
        let clock = Locked<AppStoreSender?>(nil)
        let receiver = AppStoreReceiver(
            verifier,
            handOver: .handler { notification in
                if let now = clock.withLock({ $0?.now }), outage.contains(now) { throw Down() }
                application.take(notification.uuid)
            },
            answerLimit: .seconds(60)
        )
        let server = try await AppStoreServer.start(receiver, .init())
        var sending = AppStoreSender.Configuration(url: "http://127.0.0.1:\(server.port)/", signer: maker.signer)
        sending.clock = .jumping(from: Self.start)
        sending.timeout = .seconds(60)
        sending.options.duplicates = 0.2
        sending.options.reordered = 0.2
        sending.options.seed = UInt64(hours)
        let sender = try AppStoreSender(sending)
        clock.withLock { $0 = sender }

        // Over 200 hours, so that the outage lies within.
        let step = 200 * 3600 / Double(Self.count)
        let kinds = SimulatedNotification.Kind.version2.filter { $0.type != .consumptionRequest }
        for index in 0..<Self.count {
            let date = Self.start.addingTimeInterval(Double(index) * step)
            await sender.run(until: date)
            sender.add(try maker.make(kinds[index % kinds.count], at: date))
        }
        await sender.run()

        let schedule = RetrySchedule(version: 2, environment: environment)
        let lost = sender.records.filter { !$0.isDelivered }
        let expected = sender.records.filter { record in
            guard let first = record.attempts.first else { return true }
            return schedule.lost(in: outage)?.contains(first.date) ?? false
        }
        #expect(Set(lost.map(\.notification.uuid)) == Set(expected.map(\.notification.uuid)))
        let seen = application.counts
        #expect(seen.values.allSatisfy { $0 == 1 })
        #expect(seen.count == Self.count - lost.count)

        let report = try await self.recover(sender, maker, verifier, Sink(receiver), environment)
        #expect(report.stored == lost.count)
        #expect(report.setAside.isEmpty)
        let all = application.counts
        #expect(all.count == Self.count)
        #expect(all.values.allSatisfy { $0 == 1 })
        clock.withLock { $0 = nil }
        await server.stop(within: .seconds(5))
    }

    private func recover(
        _ sender: AppStoreSender,
        _ maker: NotificationMaker,
        _ verifier: AppStoreVerifier,
        _ sink: Sink,
        _ environment: AppStoreEnvironment
    ) async throws -> AppStoreRecoveryReport {
        let credentials = try TestCredentials()
        var configuration = SimulatedAppStoreServer.Configuration(
            credentials: credentials,
            maker: maker,
            sender: sender
        )
        configuration.runsSender = false
        let server = try await SimulatedAppStoreServer.start(configuration)
        var settings = AppStoreServerClient.Configuration(
            environment: environment,
            bundleID: Self.app.bundleID,
            issuerID: configuration.issuerID,
            keyID: credentials.keyID,
            key: credentials.tokenKey,
            verifier: verifier
        )
        settings.baseURL = "https://localhost:\(server.port)"
        settings.trustRoots = credentials.trustRoots
        let recovery = AppStoreRecovery(client: try AppStoreServerClient(settings), sink: sink)
        let report = try await recovery.run(from: Self.start)
        await server.stop()
        return report
    }
}
