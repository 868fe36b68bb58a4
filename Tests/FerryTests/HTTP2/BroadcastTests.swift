import Ferry
import FerryTesting
import Foundation
import Synchronization
import Testing

/// Tests of broadcasts over real TLS, against a server that is not the simulated APNs.
@Suite(.timeLimit(.minutes(10)))
struct BroadcastTests {
    private static let json = #"{"aps":{"event":"update","content-state":{"score":1},"timestamp":1700000000}}"#
    private static let id = "dHN0LXNyY2gtY2hubA=="

    private static func channel() throws -> ChannelID { try #require(ChannelID(rawValue: Self.id)) }

    private static func notification(
        json: String = Self.json,
        topic: String? = nil,
        pushType: PushType? = nil,
        priority: Priority? = nil,
        expiration: Expiration? = nil,
        collapseID: String? = nil,
        apnsID: APNSID? = nil
    ) throws -> PushNotification {
        try PushNotification(
            json: json.utf8,
            topic: topic,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID,
            apnsID: apnsID
        )
    }

    /// Runs `body` with a provider, and shuts it down.
    private static func run(
        _ behaviour: @escaping RawAPNs.Behaviour = { _ in .init() },
        _ change: (inout HTTP2Configuration) -> Void = { _ in },
        _ body: (HTTP2Provider, RawAPNs) async throws -> Void
    ) async throws {
        try await RawAPNs.run(.init(), behaviour) { apns in
            var configuration = try apns.configuration(nil, OutcomeCollector())
            change(&configuration)
            try await withProvider(configuration) { provider in try await body(provider, apns) }
        }
    }

    @Test func `a broadcast has the path, the fields and the body that Apple names, and nothing else`() async throws {
        try await Self.run { provider, apns in
            let outcome = try await provider.broadcast(Self.notification(), to: Self.channel())
            #expect(outcome == .accepted(.confirmed))
            var fields = try #require(apns.requests.first).fields
            let requestID = fields.removeValue(forKey: "apns-request-id")
            #expect(requestID.flatMap { UUID(uuidString: $0) } != nil)
            let authorization = fields.removeValue(forKey: "authorization")
            #expect(authorization?.hasPrefix("bearer ") == true)
            #expect(
                fields == [
                    ":method": "POST", ":scheme": "https", ":authority": "localhost:\(apns.port)",
                    ":path": "/4/broadcasts/apps/com.example.ferry", "apns-channel-id": Self.id,
                    "apns-push-type": "liveactivity", "apns-priority": "10", "apns-expiration": "0",
                ]
            )
            #expect(apns.requests.map(\.body) == [Array(Self.json.utf8)])
        }
    }

    @Test func `topic, priority, expiration and apns-id of the notification go out`() async throws {
        try await Self.run { provider, apns in
            let id = try APNSID("eabeae54-14a8-11e5-b60b-1697f925ec7b")
            let notification = try Self.notification(
                topic: "com.example.other",
                pushType: .liveactivity,
                priority: .powerAware,
                expiration: Expiration(epochSeconds: 1_900_000_000),
                apnsID: id
            )
            #expect(try await provider.broadcast(notification, to: Self.channel()) == .accepted(.confirmed))
            let fields = try #require(apns.requests.first).fields
            #expect(fields[":path"] == "/4/broadcasts/apps/com.example.other")
            #expect(fields["apns-priority"] == "5")
            #expect(fields["apns-expiration"] == "1900000000")
            #expect(fields["apns-request-id"] == "\(id)")
        }
    }

    @Test func `broadcasts and notifications to devices share a connection, and neither has a field of the other`()
        async throws
    {
        try await Self.run { provider, apns in
            for number in 0..<50 {
                let expiration = Expiration(epochSeconds: 1_900_000_000 + UInt32(number / 3))
                let notification = try Self.notification(expiration: number.isMultiple(of: 2) ? expiration : nil)
                if number.isMultiple(of: 3) {
                    #expect(try await provider.broadcast(notification, to: Self.channel()).isAccepted)
                } else {
                    #expect(try await provider.send(notification, to: Harness.device(number)).isAccepted)
                }
            }
            #expect(apns.connections == 1)
            for (number, request) in apns.requests.enumerated() {
                let fields = request.fields
                let isBroadcast = number.isMultiple(of: 3)
                #expect((fields["apns-channel-id"] != nil) == isBroadcast)
                #expect((fields["apns-request-id"] != nil) == isBroadcast)
                #expect((fields["apns-id"] == nil) == isBroadcast)
                #expect((fields["apns-topic"] == nil) == isBroadcast)
                let expiration = number.isMultiple(of: 2) ? "\(1_900_000_000 + number / 3)" : isBroadcast ? "0" : nil
                #expect(fields["apns-expiration"] == expiration)
            }
        }
    }

    @Test(
        arguments: [
            (400, "FeatureNotEnabled"), (400, "MissingChannelId"), (400, "BadChannelId"), (400, "ChannelNotRegistered"),
            (400, "BadMessageId"), (400, "MissingPushType"), (400, "InvalidPushType"), (400, "BadExpirationDate"),
            (400, "TopicDisallowed"), (400, "BadPriority"), (403, "TopicMismatch"), (403, "InvalidProviderToken"),
            (404, "BadPath"), (405, "MethodNotAllowed"), (413, "PayloadTooLarge"), (500, "InternalServerError"),
            (503, "Service Unavailable"), (503, "Shutdown"),
        ]
    )
    func `a refusal of APNs is the outcome, and its event names no device`(status: UInt64, reason: String) async throws
    {
        try await Self.run({ _ in .init(status: status, body: #"{"reason":"\#(reason)"}"#) }) { configuration in
            // A retry after 15 minutes comes too late.
            configuration.options.deadline = .seconds(60)
        } _: { provider, apns in
            var events = provider.events(bufferingNewest: 16).makeAsyncIterator()
            let outcome = try await provider.broadcast(Self.notification(), to: Self.channel())
            guard case .rejected(let rejection) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(rejection.reason == Reason(rawValue: reason))
            #expect(rejection.status == Int(status))
            #expect(apns.requests.count == 1)
            while let event = await events.next() {
                guard case .transmissionError(_, let tag, let notification, let device) = event else { continue }
                #expect(tag == nil)
                #expect(notification?.payload == Array(Self.json.utf8))
                #expect(device == nil)
                break
            }
        }
    }

    @Test func `what APNs would refuse is refused before it is sent, and says why`() async throws {
        let longest = #"{"a":"\#(String(repeating: "x", count: 5120 - 8))"}"#
        #expect(longest.utf8.count == 5120)
        let wrong: [(PushNotification, Reason, String)] = [
            (try Self.notification(pushType: .alert), .invalidPushType, "liveactivity"),
            (try Self.notification(collapseID: "c"), .badCollapseID, "no collapse id"),
            (try Self.notification(topic: "com.example.ferry.push-type.liveactivity"), .topicDisallowed, "bundle ID"),
            (try Self.notification(topic: "com.example/../3"), .badTopic, "bundle ID"),
            (try Self.notification(topic: ".."), .badTopic, "bundle ID"),
        ]
        try await Self.run { provider, apns in
            for (notification, reason, words) in wrong {
                let outcome = try await provider.broadcast(notification, to: Self.channel())
                guard case .rejected(let rejection) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
                #expect(rejection.reason == reason)
                #expect(rejection.origin == .ferry)
                #expect(rejection.details?.contains(words) == true, "\(rejection.details ?? "")")
            }
            #expect(apns.requests.isEmpty)
            #expect(try await provider.broadcast(Self.notification(json: longest), to: Self.channel()).isAccepted)
        }
    }

    @Test func `without a topic, a broadcast is refused`() async throws {
        try await Self.run({ _ in .init() }, { $0.topic = nil }) { provider, apns in
            let outcome = try await provider.broadcast(Self.notification(), to: Self.channel())
            guard case .rejected(let rejection) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(rejection.reason == .missingTopic)
            #expect(apns.requests.isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func `a broadcast without an answer follows onUnknown`(isRepeated: Bool) async throws {
        let count = Counter()
        try await Self.run({ _ in count.next() == 0 ? nil : .init() }) { configuration in
            configuration.options.attemptTimeout = .milliseconds(200)
            configuration.options.onUnknown = isRepeated ? .resend : .report
        } _: { provider, apns in
            let outcome = try await provider.broadcast(Self.notification(), to: Self.channel())
            #expect(outcome == (isRepeated ? .accepted(.confirmed) : .uncertain(.noAnswer)))
            #expect(Set(apns.requests.map { $0.fields["apns-request-id"] }).count == 1)
            #expect(isRepeated ? apns.requests.count > 1 : apns.requests.count == 1)
        }
    }

    @Test func `a channel is made, gets a broadcast, and gets none after its deletion`() async throws {
        let credentials = try TestCredentials()
        let recorder = APNsMemoryRecorder()
        var server = SimulatedAPNs.Configuration(credentials: credentials)
        server.recorder = recorder
        let apns = try await SimulatedAPNs.start(server)
        let fixture = ChannelManagerTests.Fixture(apns: apns, credentials: credentials)
        let manager = try fixture.manager()
        let stored = try await manager.create(.mostRecentMessageStored)
        let unstored = try await manager.create(.noMessageStored)
        var configuration = HTTP2Configuration(
            host: "127.0.0.1",
            port: apns.port,
            credentials: .token(try fixture.source()),
            topic: "com.example.ferry",
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots
        configuration.serverName = "localhost"
        try await withProvider(configuration) { provider in
            let later = try Self.notification(expiration: Expiration(epochSeconds: 1_900_000_000))
            #expect(try await provider.broadcast(later, to: stored) == .accepted(.confirmed))
            #expect(try await provider.broadcast(Self.notification(), to: unstored) == .accepted(.confirmed))
            let refused = try await provider.broadcast(later, to: unstored)
            guard case .rejected(let rejection) = refused else {
                Issue.record("\(refused)")
                return
            }
            #expect(rejection.reason == .badExpirationDate)
            try await manager.delete(stored)
            guard case .rejected(let gone) = try await provider.broadcast(later, to: stored) else {
                Issue.record("the channel was deleted")
                return
            }
            #expect(gone.reason == .channelNotRegistered)
        }
        #expect(recorder.requests.map(\.accepted.channelID) == [stored.rawValue, unstored.rawValue])
        await manager.shutDown()
        await apns.stop()
    }
}

private final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    func next() -> Int { self.value.add(1, ordering: .relaxed).oldValue }
}
