import CoreMetrics
import Ferry
import FerryTesting
import Foundation
import NIOCore
import NIOEmbedded
import Synchronization

// The code of the pages in Docs, where no program of Examples has it. `PageSnippetTests` compares the pages with this
// file. Each function here is one page or one part of it, and none of them runs.

// Outside of its page's function, because Swift 6.3 warns without a reason of the `try await` in a local function.
func sendOne(_ provider: BinaryProvider, to device: DeviceToken) async throws {
    let notification = try PushNotification(Payload(alert: "Your train leaves in 10 minutes."))
    let task = Task { try await provider.send(notification, to: device) }
    // task.cancel()
    let outcome = try await task.value
    switch outcome {
    case .accepted(.confirmed): print("the gateway proved that it took it")
    case .accepted(.presumed): print("the gateway had it and did not object")
    case .rejected(let rejection): print("rejected: \(rejection.reason.explanation ?? rejection.reason.rawValue)")
    case .undelivered(.cancelled): print("withdrawn before it was written")
    default: print("\(outcome)")
    }
}

func pageUsing() {
    /// Where to send, and as whom.
    func makeConfiguration() throws -> BinaryConfiguration {
        let identity = try TLSIdentity(certificatePath: "client.pem", privateKeyPath: "client-key.pem")
        var configuration = BinaryConfiguration(
            host: "gateway.example.com",
            port: 2195,
            identity: identity,
            outcomes: .stream
        )
        configuration.trustRoots = .file("ca.pem")  // only if no authority that the system knows signed its certificate
        return configuration
    }

    /// One notification for many devices. The tag is the index of the device.
    func makeBatch(for devices: [DeviceToken]) throws -> PushBatch {
        let notification = try PushNotification(Payload(alert: "Hello"), expiration: .after(.seconds(600)))
        var batch = PushBatch(capacity: devices.count)
        for (index, device) in devices.enumerated() {
            try batch.append(notification, to: device, tag: PushTag(UInt64(index)))
        }
        return batch
    }

    func sendBatch(to devices: [DeviceToken]) async throws {
        let provider = try BinaryProvider(makeConfiguration())

        async let refused = refusals(provider.outcomes)
        var batch = try makeBatch(for: devices)
        try await provider.submit(&batch)
        let report = await provider.shutDown(within: .seconds(60))  // ends the stream
        let gone = await refused.filter { $0.value.tokenIsGone(confirmed: report.outcomes.confirmed) }
        print("\(report.outcomes.accepted) accepted, \(report.resent) copies, \(gone.count) tokens to forget")
    }

    func refusals(_ outcomes: OutcomeStream) async -> [Int: Rejection] {
        var refusals: [Int: Rejection] = [:]
        for await record in outcomes {
            if case .rejected(let rejection) = record.outcome { refusals[Int(record.tag.rawValue)] = rejection }
        }
        return refusals
    }

    final class Tally: OutcomeSink {
        private let counts = Mutex(OutcomeCounts())

        func settled(_ outcomes: Span<OutcomeRecord>) {
            self.counts.withLock { counts in
                for index in outcomes.indices { counts.add(outcomes[index].outcome) }
            }
        }

        var accepted: Int { self.counts.withLock { $0.accepted } }
    }

    func sendWithSink(to devices: [DeviceToken]) async throws {
        let tally = Tally()
        var configuration = try makeConfiguration()
        configuration.outcomes = .sink(tally)
        try await withProvider(configuration) { provider in
            var batch = try makeBatch(for: devices)
            try await provider.submit(&batch)
        }
        print("\(tally.accepted) accepted")
    }

    func watch(_ provider: BinaryProvider) -> Task<Void, Never> {
        let events = provider.events(bufferingNewest: 1000)
        return Task {
            for await event in events {
                switch event {
                case .contradicted(let contradiction):
                    // These were reported as accepted, and were not. `tags` has those that are still known.
                    switch contradiction.kind {
                    case .rejected(let rejection):
                        print("rejected after all: \(contradiction.tags), \(rejection.reason)")
                    case .lost: print("\(contradiction.count) lost, known: \(contradiction.tags)")
                    case .uncertain: print("\(contradiction.count) in doubt, known: \(contradiction.tags)")
                    @unknown default: break
                    }
                case .error(let error): print("a person is needed: \(error)")
                case .dropped(let count): print("\(count) events were lost: this loop is too slow")
                default: break
                }
            }
        }
    }

    func makeCarefulConfiguration() throws -> BinaryConfiguration {
        var configuration = try makeConfiguration()
        configuration.options.settleTime = .seconds(3)
        configuration.options.onUnknown = .report
        configuration.options.cacheLimit = .init(entries: 1_000_000, bytes: 256 << 20)
        configuration.options.queueLimit = 20_000
        configuration.options.maxConnections = 4
        return configuration
    }

    func sendOverHTTP2(_ batch: inout PushBatch) async throws -> DrainReport {
        let tokens = try ProviderTokenSource(
            key: ES256Key(path: "AuthKey_ABCDE12345.p8"),
            keyID: "ABCDE12345",
            teamID: "FGHIJ67890"
        )
        var configuration = HTTP2Configuration(
            production: true,
            credentials: .token(tokens),
            topic: "com.example.app",
            outcomes: .discard
        )
        configuration.proxy = HTTPProxy(host: "proxy.example.com", port: 3128)  // only if there is one
        let provider = try HTTP2Provider(configuration)
        try await provider.submit(&batch)
        return await provider.shutDown(within: .seconds(60))
    }

    func handleErrors(hex: String) async {
        do {
            let device = try DeviceToken(hex: hex)
            let notification = try PushNotification(json: #"{"aps":{"alert":"Hello"}}"#.utf8)
            let outcome = try await withProvider(makeConfiguration()) { provider in
                try await provider.send(notification, to: device)
            }
            print("\(device.hex): \(outcome)")
        } catch let error as PushValidationError {
            // Every fault, not only the first.
            for fault in error.faults { print("\(fault.code): \(fault.message)") }
        } catch let error as TLSError {
            // Certificate, key or trust roots. Thrown when they are read and when the provider is made.
            print("\(error.code): \(error)")
        } catch let error as SubmitError {
            print("not taken: \(error)")
        } catch {
            print("\(error)")
        }
    }
}

func pageFeedback() {
    func forgetDevices(_ devices: inout [DeviceToken: Date]) async throws {
        let identity = try TLSIdentity(certificatePath: "client.pem", privateKeyPath: "client-key.pem")
        let configuration = FeedbackConfiguration(host: "feedback.example.com", port: 2196, identity: identity)
        let sweep = try FeedbackReader(configuration).sweep()
        for try await tuple in sweep {
            guard let registered = devices[tuple.token], registered <= tuple.time else { continue }
            devices[tuple.token] = nil
        }
        if let report = sweep.report, report.skipped > 0 { print("\(report.skipped) bad entries were left out") }
    }
}

func pageHTTP2Simulated() throws {
    let tokens = try ProviderTokenSource(
        key: ES256Key(path: "tls/token-key.p8"),
        keyID: "FERRYKEY01",
        teamID: "FERRYTEAM1"
    )
    var configuration = HTTP2Configuration(
        host: "localhost",
        port: 2197,
        credentials: .token(tokens),
        topic: "com.example.ferry",
        outcomes: .discard
    )
    configuration.trustRoots = .file("tls/ca.pem")
    _ = configuration
}

func pageReplay(sendEverything: (BinaryConfiguration) async throws -> Void) async throws {
    let transcript = try Transcript(contentsOfFile: "session.transcript")
    let credentials = try TestCredentials()
    let socket = try await ReplaySocket.listen(Replay(transcript, playing: .server), as: credentials)

    // The client under test; here Ferry's own. For one without TLS, listen `as: nil`.
    var configuration = BinaryConfiguration(
        host: socket.host,
        port: socket.port,
        identity: credentials.client,
        outcomes: .discard
    )
    configuration.trustRoots = credentials.trustRoots
    try await sendEverything(configuration)

    try await socket.finish(within: .seconds(10))
}

func pageReplayInMemory<MyClientHandler: ChannelHandler & SendableMetatype>(
    transcript: Transcript,
    _: MyClientHandler.Type
) throws where MyClientHandler: Makeable {
    let channel = EmbeddedChannel(handler: MyClientHandler())
    try Replay(transcript, playing: .server, mode: .exact).run(on: channel)
}

protocol Makeable { init() }

func pageToken(vault: some Vault) throws {
    let key = try ES256Key(path: "AuthKey_ABCDE12345.p8")
    let tokens = try ProviderTokenSource(key: key, keyID: "ABCDE12345", teamID: "FGHIJ67890")
    let fromFile = ProviderTokenSource(tokenFile: "/run/apns/token.jwt")
    let fromProgram = ProviderTokenSource { try vault.currentToken() }
    try tokens.replace(key: ES256Key(path: "AuthKey_NEWKEY0001.p8"), keyID: "NEWKEY0001")
    _ = (fromFile, fromProgram)
}

protocol Vault: Sendable { func currentToken() throws -> String }

// MARK: Metrics and spans

func observe(_ configuration: inout HTTP2Configuration) {
    configuration.observer = ProviderMetrics(factory: MetricsSystem.factory, dimensions: [("provider", "production")])
}

struct Rejections: ProviderObserver {
    func observed(_ activity: ProviderActivity) {
        for (reason, count) in activity.causes.rejected { print(reason.isKnown ? reason.rawValue : "other", count) }
    }
}

// The page about channels.

func createAChannel() async throws {
    let key = try ES256Key(path: "AuthKey_ABCDE12345.p8")
    let tokens = try ProviderTokenSource(key: key, keyID: "ABCDE12345", teamID: "FGHIJ67890")
    let manager = try ChannelManager(
        ChannelManagerConfiguration(production: true, bundleID: "com.example.app", credentials: .token(tokens))
    )
    do throws(ChannelManagerError) {
        let channel = try await manager.create(.mostRecentMessageStored)
        print("keep this: \(channel)")
    } catch {
        guard error.mayHaveTakenEffect else { throw error }
        let channels = try await manager.list()
        print("look before you create another: \(channels)")
    }
    await manager.shutDown()
}

func sendToChannel(_ tokens: ProviderTokenSource) async throws {
    struct NotAChannel: Error {}
    guard let channel = ChannelID(rawValue: "dHN0LXNyY2gtY2hubA==") else { throw NotAChannel() }
    let configuration = HTTP2Configuration(
        production: true,
        credentials: .token(tokens),
        topic: "com.example.app",
        outcomes: .discard
    )
    let json = #"{"aps":{"timestamp":1700000000,"event":"update","content-state":{"home":2,"away":1}}}"#
    let notification = try PushNotification(json: json.utf8, expiration: .once)
    let outcome = try await withProvider(configuration) { provider in
        try await provider.broadcast(notification, to: channel)
    }
    print(outcome)
}

// The page about Live Activities.

private struct Score: Encodable {
    var home: Int
    var away: Int
}

func updateLiveActivity(_ provider: HTTP2Provider, _ activity: DeviceToken) async throws {
    let score = try JSONFragment(encoding: Score(home: 2, away: 1))
    var payload = Payload(alert: .init(title: "Goal", body: "Two to one."), sound: "horn.aiff")
    payload.liveActivity = .init(.update, timestamp: .now, contentState: score)
    let update = try PushNotification(
        payload,
        topic: "com.example.app.push-type.liveactivity",
        pushType: .liveactivity,
        priority: .immediate
    )
    print(try await provider.send(update, to: activity))
}

func startAndEndLiveActivity() throws -> [Payload] {
    let teams = try JSONFragment(json: #"{"home":"Ferry","away":"Lighthouse"}"#)
    var start = Payload(alert: .init(title: "Kick-off", body: "The game begins."))
    start.liveActivity = .init(
        .start(attributesType: "GameAttributes", attributes: teams),
        timestamp: .now,
        contentState: try JSONFragment(encoding: Score(home: 0, away: 0))
    )
    var end = Payload()
    end.liveActivity = .init(.end, timestamp: .now, contentState: nil, dismissalDate: .now)
    return [start, end]
}
