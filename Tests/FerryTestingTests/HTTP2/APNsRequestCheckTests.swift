internal import FerryCore
internal import FerryMachine
internal import FerryOpenSSL
internal import FerryTesting
internal import NIOCore
internal import Testing

struct APNsRequestCheckTests {
    static let id = "eabeae54-14a8-11e5-b60b-1697f925ec7b"

    @Test func `a good request is accepted with its apns-id`() throws {
        let rehearsal = try APNsRehearsal()
        let told = try rehearsal.ask(
            token: "00FFaa",
            fields: [
                ("apns-push-type", "alert"), ("apns-priority", "10"), ("apns-expiration", "0"), ("apns-id", Self.id),
                ("apns-collapse-id", String(repeating: "c", count: 64)),
            ]
        )
        #expect(told?.status == 200)
        #expect(told?.fields["apns-id"] == Self.id)
        #expect(told?.body.isEmpty == true)
        let request = try #require(rehearsal.memory.requests.first)
        #expect(request.token.bytes == [0, 255, 0xaa])
        #expect(request.payload == Array(#"{"aps":{}}"#.utf8))
        let accepted = request.accepted
        #expect(accepted.connection == 3)
        #expect(accepted.place == 1)
        #expect(accepted.apnsID == Self.id)
        #expect(accepted.topic == APNsRehearsal.topic)
        #expect(accepted.pushType == "alert")
        #expect(accepted.priority == 10)
        #expect(accepted.expiration == 0)
        #expect(accepted.collapseID?.count == 64)
        #expect(rehearsal.counts.accepted == 1)
    }

    @Test func `each request without an apns-id gets a different one`() throws {
        let rehearsal = try APNsRehearsal()
        let ids = try (0..<3).map { _ in try rehearsal.ask()?.fields["apns-id"] ?? "" }
        #expect(Set(ids).count == 3)
        for id in ids { #expect(throws: Never.self) { try APNSID(id) } }
        #expect(try rehearsal.ask()?.fields["apns-unique-id"] == nil)
        var script = HTTP2Script.withoutTokens()
        script.hasUniqueID = true
        #expect(try APNsRehearsal(script).ask()?.fields["apns-unique-id"]?.count == 36)
    }

    @Test(arguments: Refusal.all)
    func `each fault has its status and its reason, and an apns-id`(_ fault: Refusal) throws {
        let rehearsal = try APNsRehearsal()
        let told = try rehearsal.ask(
            method: fault.method,
            path: fault.path,
            topic: fault.topic,
            fields: fault.fields,
            body: fault.body
        )
        #expect(told?.status == fault.status)
        #expect(told?.body == #"{"reason":"\#(fault.reason)"}"#)
        #expect(told?.fields["apns-id"]?.count == 36)
        #expect(told?.fields["content-type"] == "application/json")
        #expect(rehearsal.memory.requests.isEmpty)
        #expect(rehearsal.counts.rejected == 1)
        // A fault affects one request, not the connection.
        #expect(try rehearsal.ask()?.status == 200)
    }

    @Test func `the first of several faults in the documented order is the answer`() throws {
        let rehearsal = try APNsRehearsal()
        var fields: [APNsRehearsal.Field] = [
            ("apns-collapse-id", String(repeating: "c", count: 65)), ("apns-id", "1"), ("apns-expiration", "x"),
            ("apns-priority", "7"), ("apns-push-type", "alarm"),
        ]
        #expect(try rehearsal.ask(method: "GET", path: "/", topic: nil, fields: fields)?.reason == "MethodNotAllowed")
        #expect(try rehearsal.ask(path: "/", topic: nil, fields: fields)?.reason == "BadPath")
        #expect(try rehearsal.ask(token: "x", topic: nil, fields: fields)?.reason == "BadDeviceToken")
        #expect(try rehearsal.ask(topic: nil, fields: fields)?.reason == "MissingTopic")
        let rest = ["InvalidPushType", "BadPriority", "BadExpirationDate", "BadMessageId", "BadCollapseId"]
        for reason in rest {
            let body = String(repeating: "x", count: 6000)
            #expect(try rehearsal.ask(fields: fields, body: body)?.reason == reason)
            fields.removeLast()
        }
    }

    @Test(
        arguments: [
            ("alert", ""), ("background", ""), ("location", ".location-query"), ("voip", ".voip"),
            ("complication", ".complication"), ("complication", ""), ("fileprovider", ".pushkit.fileprovider"),
            ("mdm", ""), ("liveactivity", ".push-type.liveactivity"), ("pushtotalk", ".voip-ptt"),
            ("widgets", ".push-type.widgets"), ("controls", ".push-type.controls"),
        ]
    )
    func `every push type is accepted with its own topic`(type: String, suffix: String) throws {
        let rehearsal = try APNsRehearsal()
        for _ in 0..<2 {
            let told = try rehearsal.ask(
                topic: APNsRehearsal.topic + suffix,
                fields: [("apns-push-type", type), ("apns-priority", "5")]
            )
            #expect(told?.status == 200)
        }
    }

    @Test func `voip may have 5120 bytes, by its push type or its topic, and a script may change the limits`() throws {
        let long = String(repeating: "x", count: 5120)
        let rehearsal = try APNsRehearsal()
        let voip: [APNsRehearsal.Field] = [("apns-push-type", "voip")]
        let topic = "com.example.ferry.voip"
        #expect(try rehearsal.ask(topic: topic, fields: voip, body: long)?.status == 200)
        #expect(try rehearsal.ask(topic: topic, body: long)?.status == 200)
        #expect(try rehearsal.ask(body: long)?.status == 413)
        #expect(try rehearsal.ask(topic: topic, fields: voip, body: long + "x")?.status == 413)
        #expect(try rehearsal.ask(body: String(repeating: "x", count: 100_000))?.status == 413)
        #expect(try rehearsal.ask(body: String(repeating: "x", count: 4096))?.status == 200)
        var script = HTTP2Script.withoutTokens()
        script.payloadLimit = 10_000
        let other = try APNsRehearsal(script)
        #expect(try other.ask(body: String(repeating: "x", count: 10_000))?.status == 200)
        #expect(try other.ask(body: String(repeating: "x", count: 10_001))?.status == 413)
    }

    @Test func `only the topics that the script names are allowed, with their suffixes`() throws {
        var script = HTTP2Script.withoutTokens()
        script.topics = ["com.example.ferry", "com.example.other"]
        let rehearsal = try APNsRehearsal(script)
        #expect(try rehearsal.ask(topic: "com.example.other")?.status == 200)
        #expect(try rehearsal.ask(topic: "com.example.ferry.voip")?.status == 200)
        #expect(try rehearsal.ask(topic: "com.example.ferryboat")?.reason == "TopicDisallowed")
        #expect(try rehearsal.ask(topic: "com.example")?.reason == "TopicDisallowed")
    }

    @Test func `a certificate stands for its topics, and needs no token`() throws {
        let one = try APNsRehearsal(HTTP2Script(), certificateTopics: [APNsRehearsal.topic])
        #expect(one.limits == [1000])
        #expect(try one.ask(topic: nil)?.status == 200)
        #expect(try one.ask(fields: [("authorization", "ignored")])?.status == 200)
        #expect(try one.ask(topic: "com.example.other")?.reason == "TopicDisallowed")
        let location = try one.ask(
            topic: "com.example.ferry.location-query",
            fields: [("apns-push-type", "location")]
        )
        #expect(location?.status == 403)
        #expect(location?.reason == "Forbidden")
        let two = try APNsRehearsal(HTTP2Script(), certificateTopics: ["com.example.ferry", "com.example.other"])
        #expect(try two.ask(topic: nil)?.reason == "MissingTopic")
        #expect(try two.ask(topic: "com.example.other")?.status == 200)
    }

    @Test func `without a certificate a provider token is needed, and each fault of it has its reason`() throws {
        let credentials = try TestCredentials()
        let key = credentials.providerTokenKey
        let rehearsal = try APNsRehearsal(HTTP2Script(), keys: [key])
        let start = rehearsal.now.epochSeconds
        #expect(try rehearsal.ask()?.reason == "MissingProviderToken")
        #expect(try rehearsal.ask()?.status == 403)
        #expect(try rehearsal.ask(fields: [("authorization", "bearer x")])?.reason == "InvalidProviderToken")
        let first: [APNsRehearsal.Field] = [("authorization", try key.authorization(at: start))]
        #expect(try rehearsal.ask(fields: first)?.status == 200)
        #expect(try rehearsal.ask(fields: first)?.status == 200)
        rehearsal.set(epochSeconds: start + 3601)
        #expect(try rehearsal.ask(fields: first)?.reason == "ExpiredProviderToken")
    }

    @Test func `tokens that change too often are refused, for as long as the script says`() throws {
        let credentials = try TestCredentials()
        let key = credentials.providerTokenKey
        var script = HTTP2Script()
        script.tokenUpdateInterval = .seconds(30)
        let rehearsal = try APNsRehearsal(script, keys: [key])
        let start = rehearsal.now.epochSeconds
        func ask(_ offset: UInt32) throws -> Told? {
            try rehearsal.ask(fields: [("authorization", try key.authorization(at: start + offset))])
        }
        #expect(try ask(0)?.status == 200)
        #expect(try ask(1)?.status == 200)
        let refused = try ask(2)
        #expect(refused?.status == 429)
        #expect(refused?.reason == "TooManyProviderTokenUpdates")
        try rehearsal.advance(by: .seconds(30))
        #expect(try ask(3)?.status == 200)
    }
}

/// A request with one fault, and the answer of APNs.
struct Refusal: CustomTestStringConvertible, Sendable {
    var status: Int
    var reason: String
    var method = "POST"
    var path: String?
    var topic: String? = APNsRehearsal.topic
    var fields: [APNsRehearsal.Field] = []
    var body = "{}"
    var testDescription: String { "\(self.reason) \(self.path ?? "") \(self.topic ?? "") \(self.fields)" }

    static let all: [Refusal] = [
        .init(status: 400, reason: "DuplicateHeaders", fields: [("apns-topic", "com.example.ferry")]),
        .init(status: 400, reason: "DuplicateHeaders", fields: [("apns-priority", "5"), ("apns-priority", "5")]),
        .init(status: 405, reason: "MethodNotAllowed", method: "PUT"),
        .init(status: 404, reason: "BadPath", path: "/3/devices/00ff"),
        .init(status: 404, reason: "BadPath", path: "/2/device/00ff"),
        .init(status: 404, reason: "BadPath", path: "/"),
        .init(status: 400, reason: "MissingDeviceToken", path: "/3/device/"),
        .init(status: 400, reason: "MissingDeviceToken", path: "/3/device"),
        .init(status: 400, reason: "BadDeviceToken", path: "/3/device/0"),
        .init(status: 400, reason: "BadDeviceToken", path: "/3/device/00fg"),
        .init(status: 400, reason: "BadDeviceToken", path: "/3/device/" + String(repeating: "a", count: 202)),
        .init(status: 400, reason: "MissingTopic", topic: nil),
        .init(status: 400, reason: "BadTopic", topic: "com.example ferry"),
        .init(status: 400, reason: "BadTopic", topic: ""),
        .init(status: 400, reason: "InvalidPushType", fields: [("apns-push-type", "alarm")]),
        .init(status: 400, reason: "InvalidPushType", fields: [("apns-push-type", "")]),
        .init(status: 400, reason: "TopicDisallowed", fields: [("apns-push-type", "voip")]),
        .init(status: 400, reason: "TopicDisallowed", fields: [("apns-push-type", "liveactivity")]),
        .init(
            status: 400,
            reason: "TopicDisallowed",
            topic: "com.example.ferry.voip",
            fields: [("apns-push-type", "alert")]
        ),
        .init(status: 400, reason: "BadPriority", fields: [("apns-priority", "2")]),
        .init(status: 400, reason: "BadPriority", fields: [("apns-priority", "")]),
        .init(status: 400, reason: "BadPriority", fields: [("apns-priority", "high")]),
        .init(status: 400, reason: "BadPriority", fields: [("apns-push-type", "background")]),
        .init(
            status: 400,
            reason: "BadPriority",
            fields: [("apns-push-type", "background"), ("apns-priority", "10")]
        ),
        .init(status: 400, reason: "BadExpirationDate", fields: [("apns-expiration", "-1")]),
        .init(status: 400, reason: "BadExpirationDate", fields: [("apns-expiration", "9223372036854775808")]),
        .init(status: 400, reason: "BadExpirationDate", fields: [("apns-expiration", "")]),
        .init(status: 400, reason: "BadMessageId", fields: [("apns-id", "1")]),
        .init(status: 400, reason: "BadMessageId", fields: [("apns-id", "gabeae54-14a8-11e5-b60b-1697f925ec7b")]),
        .init(
            status: 400,
            reason: "BadCollapseId",
            fields: [(name: "apns-collapse-id", value: String(repeating: "c", count: 65))]
        ),
        .init(status: 400, reason: "PayloadEmpty", body: ""),
        .init(status: 413, reason: "PayloadTooLarge", body: String(repeating: "x", count: 4097)),
    ]
}
