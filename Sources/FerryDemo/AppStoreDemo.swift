internal import FerryAppStore
internal import FerryAppStoreTesting
internal import FerryCore
internal import FerryPlatform
internal import FerryTesting

/// The part of the demo about App Store Server Notifications: a simulated App Store posts to a receiver over TLS. The
/// application behind the receiver is down for eight days, and the notification history brings back the lost
/// notifications. The days pass in virtual time.
struct AppStoreDemo {
    private static let app = AppStoreApp(bundleID: "com.example.ferry", appAppleID: 1_234_567_890)
    private static let outage: TimeInterval = 8 * 86_400

    /// The application that gets the notifications, and the times at which it is down.
    private final class Application: Sendable {
        struct Down: Error {}

        private struct State {
            var sender: AppStoreSender?
            var outage: Range<Date>?
            var seen: [String: Int] = [:]
        }

        private let state = Locked(State())

        var seen: [String: Int] { self.state.withLock(\.seen) }

        func follow(_ sender: AppStoreSender?, outage: Range<Date>? = nil) {
            self.state.withLock { ($0.sender, $0.outage) = (sender, outage) }
        }

        func take(_ uuid: String) throws {
            try self.state.withLock { state in
                if let now = state.sender?.now, state.outage?.contains(now) == true { throw Down() }
                state.seen[uuid, default: 0] += 1
            }
        }
    }

    private struct Sink: AppStoreNotificationSink {
        var application: Application

        func take(_ notification: AppStoreNotification, signedPayload: String) async -> AppStoreSinkAnswer {
            do {
                try self.application.take(notification.uuid)
                return .stored
            } catch {
                return .failed("the application is down")
            }
        }
    }

    var narrator: DemoNarrator

    func run() async throws -> DemoReport {
        let credentials = try TestCredentials()
        var maker = try NotificationMaker(app: Self.app, environment: .production)
        var trust = AppStoreVerifier.Configuration(apps: [Self.app])
        trust.trustRoots = .pem(maker.signer.rootPEM)
        let verifier = try AppStoreVerifier(trust)
        let application = Application()
        let refused = Locked(0)
        // A busy machine must not change the counts.
        let receiver = AppStoreReceiver(
            verifier,
            handOver: .handler { try application.take($0.uuid) },
            answerLimit: .seconds(30)
        ) { event in
            if case .refused = event { refused.withLock { $0 += 1 } }
        }
        var configuration = AppStoreServer.Configuration()
        configuration.identity = credentials.server
        let server = try await AppStoreServer.start(receiver, configuration)
        let start = Date(timeIntervalSince1970: (Date.now.timeIntervalSince1970 - 40 * 86_400).rounded(.down))
        var sending = AppStoreSender.Configuration(url: "https://127.0.0.1:\(server.port)/", signer: maker.signer)
        sending.trustRoots = credentials.trustRoots
        sending.clock = .jumping(from: start)
        sending.timeout = .seconds(30)
        sending.options.duplicates = 0.2
        let sender = try AppStoreSender(sending)

        let kinds = SimulatedNotification.Kind.version2.filter { $0.type != .consumptionRequest }
        for kind in kinds { sender.add(try maker.make(kind, at: start)) }
        await sender.run()
        self.narrator.say("the simulated App Store sent \(kinds.count) notifications, one of each kind, and some twice")
        let forger = try AppStoreSender(self.forgery(of: sending))
        var forged = try NotificationMaker(app: Self.app, environment: .production)
        for kind in kinds.prefix(3) { forger.add(try forged.make(kind, at: start)) }
        await forger.run(until: start)
        self.narrator.say("somebody else posted 3 with certificates of their own: they were refused")

        let begin = sender.now
        application.follow(sender, outage: begin..<begin.addingTimeInterval(Self.outage))
        for kind in kinds { sender.add(try maker.make(kind, at: begin)) }
        await sender.run()
        let lost = sender.records.filter { !$0.isDelivered }.count
        application.follow(nil)
        self.narrator.say("the application was down for 8 days: the App Store gave up \(lost) after its last attempt")
        let report = try await self.recover(sender, maker, verifier, application, credentials, from: start)
        self.narrator.say("the notification history brought \(report.stored) of them back")
        await server.stop(within: .seconds(1))

        let seen = application.seen
        return DemoReport(rows: [
            .init(
                what: "App Store: notifications sent, and those the application got",
                expected: sender.records.count,
                actual: seen.count
            ),
            .init(
                what: "App Store: notifications that the application got twice",
                expected: 0,
                actual: seen.values.count { $0 > 1 }
            ),
            .init(
                what: "App Store: forged notifications, and those refused",
                expected: 3,
                actual: refused.withLock(\.self)
            ),
            .init(what: "App Store: lost in the outage, and recovered", expected: kinds.count, actual: report.stored),
        ])
    }

    private func forgery(of sending: AppStoreSender.Configuration) -> AppStoreSender.Configuration {
        var forgery = sending
        forgery.options.duplicates = 0
        return forgery
    }

    private func recover(
        _ sender: AppStoreSender,
        _ maker: NotificationMaker,
        _ verifier: AppStoreVerifier,
        _ application: Application,
        _ credentials: TestCredentials,
        from start: Date
    ) async throws -> AppStoreRecoveryReport {
        var configuration = SimulatedAppStoreServer.Configuration(
            credentials: credentials,
            maker: maker,
            sender: sender
        )
        configuration.runsSender = false
        let server = try await SimulatedAppStoreServer.start(configuration)
        var settings = AppStoreServerClient.Configuration(
            environment: .production,
            bundleID: Self.app.bundleID,
            issuerID: configuration.issuerID,
            keyID: credentials.keyID,
            key: credentials.tokenKey,
            verifier: verifier
        )
        settings.baseURL = "https://localhost:\(server.port)"
        settings.trustRoots = credentials.trustRoots
        let client = try AppStoreServerClient(settings)
        let report = try await AppStoreRecovery(client: client, sink: Sink(application: application)).run(from: start)
        await server.stop(within: .seconds(1))
        return report
    }
}
