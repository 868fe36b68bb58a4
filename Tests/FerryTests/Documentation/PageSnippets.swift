import Ferry
import FerryTesting
import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import Testing
import UnixSignals

// The code of the pages for new users, where no program of Examples has it. `PageSnippetTests` compares the pages with
// this file.

// MARK: Send your first notification

func sendOneNotification() async throws {
    let key = try ES256Key(path: "AuthKey_ABCDE12345.p8")
    let tokens = try ProviderTokenSource(key: key, keyID: "ABCDE12345", teamID: "FGHIJ67890")
    let configuration = HTTP2Configuration(production: true, credentials: .token(tokens), outcomes: .discard)
    let notification = try PushNotification(Payload(alert: "Hello", badge: 1), topic: "com.example.app")
    let device = try DeviceToken(hex: "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0")
    let result = try await withProvider(configuration) { provider in
        provider.inWords(try await provider.send(notification, to: device))
    }
    print(result)
}

func configureForGateway() throws -> BinaryConfiguration {
    let identity = try TLSIdentity(certificatePath: "push.pem", privateKeyPath: "push-key.pem")
    let configuration = BinaryConfiguration(host: "gateway.example.com", identity: identity, outcomes: .discard)
    return configuration
}

func sendManyNotifications(_ devices: [DeviceToken], _ configuration: HTTP2Configuration) async throws {
    let notification = try PushNotification(Payload(alert: "The shop opens at nine."), topic: "com.example.app")
    let report = try await withProvider(configuration) { provider in
        var batch = PushBatch(capacity: devices.count)
        for (index, device) in devices.enumerated() {
            try batch.append(notification, to: device, tag: PushTag(UInt64(index)))
        }
        try await provider.submit(&batch)
        return await provider.drain(within: .seconds(60))
    }
    print(report)
}

// MARK: Outcomes

func readWhileSubmitting(_ batch: inout PushBatch, _ configuration: HTTP2Configuration) async throws {
    let (report, refused) = try await withProvider(configuration) { provider in
        try await provider.submit(&batch)
    } outcomes: { outcomes in
        var refused: [PushTag] = []
        for await record in outcomes { if case .rejected = record.outcome { refused.append(record.tag) } }
        return refused
    }
    print(report, refused)
}

/// Looks at every outcome, and returns the devices to forget and those to send to again.
func sift(_ outcomes: OutcomeStream, _ devices: [DeviceToken]) async -> (forget: [DeviceToken], again: [DeviceToken]) {
    var (refused, again): ([(device: DeviceToken, rejection: Rejection)], [DeviceToken]) = ([], [])
    var confirmed = 0
    for await record in outcomes {
        let device = devices[Int(record.tag.rawValue)]
        switch record.outcome {
        case .accepted(let evidence):
            if evidence == .confirmed { confirmed += 1 }
        case .rejected(let rejection):
            refused.append((device, rejection))
            print(rejection.reason.explanation ?? rejection.reason.rawValue)
        case .expired:
            break
        case .undelivered:
            again.append(device)
            if let error = record.error { print(error.message) }
        case .uncertain(let cause):
            print("may have arrived or not: \(cause)")
        @unknown default:
            break
        }
    }
    let forget = refused.filter { $0.rejection.tokenIsGone(confirmed: confirmed) }.map(\.device)
    return (forget, again)
}

// MARK: Choosing a protocol

/// The environment names a protocol that there is not.
struct UnknownProtocol: Error {
    var name: String
}

/// The provider that the environment asks for.
func makeProvider(_ environment: [String: String], _ outcomes: OutcomeDelivery) throws -> any PushProvider {
    switch environment["APNS_PROTOCOL"] {
    case "binary":
        let identity = try TLSIdentity(certificatePath: "push.pem", privateKeyPath: "push-key.pem")
        let host = environment["APNS_HOST"] ?? "gateway.example.com"
        return try BinaryProvider(BinaryConfiguration(host: host, identity: identity, outcomes: outcomes))
    case "http2", nil:
        let key = try ES256Key(path: "AuthKey_ABCDE12345.p8")
        let tokens = try ProviderTokenSource(key: key, keyID: "ABCDE12345", teamID: "FGHIJ67890")
        var configuration = HTTP2Configuration(production: true, credentials: .token(tokens), outcomes: outcomes)
        configuration.topic = "com.example.app"
        return try HTTP2Provider(configuration)
    case let name?:
        throw UnknownProtocol(name: name)
    }
}

// MARK: Moving devices

func makeMigratingProvider(_ binary: BinaryConfiguration, _ http2: HTTP2Configuration) throws -> MigratingProvider {
    var configuration = MigratingConfiguration(binary: binary, http2: http2, outcomes: .stream)
    configuration.options.rule = MigrationRule(share: 1)
    configuration.options.fallback = MigrationOptions.Fallback()
    let provider = try MigratingProvider(configuration)
    return provider
}

func readFeedbackOfBoth(
    _ provider: MigratingProvider,
    _ identity: TLSIdentity,
    _ body: (DeviceToken, Date?) -> Void
) async throws {
    func forget(_ device: DeviceToken, goneSince: Date?) { body(device, goneSince) }
    let reader = try FeedbackReader(FeedbackConfiguration(host: "gateway.example.com", identity: identity))
    let lists = FeedbackService(reader) { event in
        if case .tuple(let tuple) = event { provider.take(tuple) }
    }
    await withThrowingTaskGroup { group in
        group.addTask { try await lists.run() }
        for await news in provider.feedback(bufferingNewest: 10_000) {
            if case .gone(let device) = news { forget(device.token, goneSince: device.time) }
            if case .dropped(let count) = news { print("\(count) devices were not read in time") }
        }
        group.cancelAll()
    }
}

// MARK: Run as a service

/// Sends a notification for each message, until the group shuts down.
struct MessageSender: Service {
    struct Message: Sendable {
        var device: DeviceToken
        var text: String
    }

    let provider: any PushProvider
    let messages: AsyncStream<Message>

    func run() async throws {
        for await message in self.messages.cancelOnGracefulShutdown() {
            do {
                let notification = try PushNotification(Payload(alert: .init(body: message.text)))
                let outcome = try await self.provider.send(notification, to: message.device)
                // What is undelivered or uncertain is for you to keep, and to send again.
                if case .accepted = outcome { continue }
                print("\(outcome): \(outcome.explanation ?? "")")
            } catch let error as PushValidationError {
                // One message that cannot be sent must not end the service, and with it the group.
                print(error)
            }
        }
    }
}

func serve(_ messages: AsyncStream<MessageSender.Message>) async throws {
    let provider = try makeProvider(ProcessInfo.processInfo.environment, .discard)
    let sender = MessageSender(provider: provider, messages: messages)
    var configuration = ServiceGroupConfiguration(
        services: [
            .init(service: provider),
            // When the messages end or the sender fails, the provider still gives everything its outcome.
            .init(
                service: sender,
                successTerminationBehavior: .gracefullyShutdownGroup,
                failureTerminationBehavior: .gracefullyShutdownGroup
            ),
        ],
        gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "app")
    )
    configuration.maximumGracefulShutdownDuration = .seconds(60)
    try await ServiceGroup(configuration: configuration).run()
}

/// Reads every outcome, until the provider has shut down.
struct OutcomeReader: Service {
    let outcomes: OutcomeStream
    let logger: Logger

    func run() async throws {
        for await record in self.outcomes {
            switch record.outcome {
            case .accepted: break
            default: self.logger.notice("\(record.tag): \(record.outcome)")
            }
        }
        // The stream ends before the provider does. For the group, a service has failed that ends unasked.
        try? await gracefulShutdown()
    }
}

/// Writes trouble to the program's log.
func watch(_ provider: any PushProvider, _ logger: Logger) async {
    for await event in provider.events(bufferingNewest: 1000) {
        switch event {
        case .error(let error): logger.error("\(error)")
        case .contradicted(let contradiction): logger.warning("\(contradiction.count) outcomes were wrong")
        case .dropped(let count): logger.warning("\(count) events were lost")
        default: break
        }
    }
}

// MARK: Test your own code

/// Greets each device, and returns the devices that no longer have the app.
func greet(_ devices: [DeviceToken], with provider: some PushProvider) async throws -> [DeviceToken] {
    let notification = try PushNotification(Payload(alert: "Good morning."))
    var gone: [DeviceToken] = []
    for device in devices {
        guard case .rejected(let rejection) = try await provider.send(notification, to: device) else { continue }
        if rejection.reason == .unregistered { gone.append(device) }
    }
    return gone
}

@Suite(.timeLimit(.minutes(10))) struct GreetingTests {
    @Test func `a device that lost the app is returned, and the others are greeted`() async throws {
        let (here, gone) = (try DeviceToken(hex: "00fc"), try DeviceToken(hex: "bad0"))
        let credentials = try TestCredentials()
        let recorder = APNsMemoryRecorder()
        var simulated = SimulatedAPNs.Configuration(credentials: credentials)
        simulated.script.rules = [.reject([gone], reason: .unregistered)]
        simulated.recorder = recorder
        let apns = try await SimulatedAPNs.start(simulated)

        let tokens = try ProviderTokenSource(
            key: credentials.tokenKey,
            keyID: credentials.keyID,
            teamID: credentials.teamID
        )
        var configuration = HTTP2Configuration(
            host: apns.host,
            port: apns.port,
            credentials: .token(tokens),
            topic: "com.example.app",
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots
        let lost = try await withProvider(configuration) { provider in
            try await greet([here, gone], with: provider)
        }
        await apns.stop()

        #expect(lost == [gone])
        #expect(recorder.requests.map(\.token) == [here])
        #expect(recorder.requests.first?.accepted.topic == "com.example.app")
        #expect(apns.counts.rejected == 1)
    }

    @Test func `nothing arrives twice, although the gateway resets a connection`() async throws {
        let devices = try (0..<1000).map { try DeviceToken([UInt8($0 >> 8), UInt8($0 & 255)]) }
        let credentials = try TestCredentials()
        let recorder = GatewayMemoryRecorder()
        var simulated = SimulatedGateway.Configuration(credentials: credentials)
        simulated.script.rules = [.reject([devices[7]]), .end(by: .reset, after: 100, times: 1)]
        simulated.recorder = recorder
        let gateway = try await SimulatedGateway.start(simulated)

        var configuration = BinaryConfiguration(
            host: gateway.host,
            port: gateway.port,
            identity: credentials.client,
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots
        configuration.options.onUnknown = .report
        let notification = try PushNotification(Payload(badge: 1))
        let report = try await withProvider(configuration) { provider in
            try await provider.submit(
                contentsOf: devices.enumerated().map { Submission(notification, to: $1, tag: PushTag(UInt64($0))) }
            )
            return await provider.drain(within: .seconds(300))
        }
        await gateway.stop()

        #expect(report.outcomes.settled == devices.count)
        #expect(recorder.duplicates.isEmpty)
        #expect(recorder.counts[devices[7]] == nil)
    }

    @Test func `a fake provider answers without a server`() async throws {
        let (here, gone) = (try DeviceToken(hex: "00fc"), try DeviceToken(hex: "bad0"))
        let refusal = Rejection(reason: .unregistered, origin: .apns, status: 410)
        let provider = FakeProvider(topic: "com.example.app") { _, device in
            device == gone ? .rejected(refusal) : .accepted(.confirmed)
        }
        #expect(try await greet([here, gone], with: provider) == [gone])
        #expect(provider.submissions.map(\.device) == [here, gone])
        _ = await provider.shutDown(within: .zero, proof: .automatic)
        await #expect(throws: SubmitError.shutDown) { try await greet([here], with: provider) }
    }
}
