internal import FerryCore
internal import FerryHTTP2
internal import FerryTesting
internal import Testing

@Suite struct APNsChannelTests {
    private static let path = "/1/apps/com.example.ferry/channels"
    private static let all = "/1/apps/com.example.ferry/all-channels"
    private static let creation = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#

    /// Makes a channel and returns its identifier.
    private static func create(_ apns: APNsRehearsal, _ body: String = creation) throws -> String {
        let told = try #require(try apns.ask(path: self.path, topic: nil, body: body))
        #expect(told.status == 201)
        #expect(told.body == "")
        return try #require(told.fields["apns-channel-id"])
    }

    private static func ask(
        _ apns: APNsRehearsal,
        _ method: String,
        _ path: String = path,
        channel: String? = nil,
        fields: [APNsRehearsal.Field] = [],
        body: String = ""
    ) throws -> Told {
        var fields = fields
        if let channel { fields.append(("apns-channel-id", channel)) }
        return try #require(try apns.ask(method: method, path: path, topic: nil, fields: fields, body: body))
    }

    @Test func `a channel is made, read, listed and deleted`() throws {
        let apns = try APNsRehearsal()
        let id = try Self.create(apns)
        #expect(ChannelID(rawValue: id) != nil)
        #expect(id.count == 24)
        let second = try Self.create(apns, #"{"push-type":"LiveActivity","message-storage-policy":0}"#)
        let read = try Self.ask(apns, "GET", channel: id)
        #expect(read.status == 200)
        #expect(read.body == Self.creation)
        #expect(try Self.ask(apns, "GET", Self.all).body == #"{"channels":["\#(id)","\#(second)"]}"#)
        let deleted = try Self.ask(apns, "DELETE", channel: id)
        #expect(deleted.status == 204)
        #expect(deleted.body == "")
        #expect(try Self.ask(apns, "GET", Self.all).body == #"{"channels":["\#(second)"]}"#)
        #expect(apns.counts.accepted == 6)
        #expect(apns.memory.requests.isEmpty)
    }

    @Test func `the request's name comes back, or APNs makes one`() throws {
        let apns = try APNsRehearsal()
        let name = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
        for (method, path) in [("GET", Self.all), ("GET", Self.path)] {
            #expect(
                try Self.ask(apns, method, path, fields: [("apns-request-id", name)]).fields["apns-request-id"] == name
            )
            #expect(try Self.ask(apns, method, path).fields["apns-request-id"]?.count == 36)
        }
    }

    @Test func `each app has channels of its own`() throws {
        let apns = try APNsRehearsal()
        let id = try Self.create(apns)
        let other = "/1/apps/com.example.other/channels"
        #expect(try Self.ask(apns, "GET", other, channel: id).reason == "ChannelNotRegistered")
        #expect(try Self.ask(apns, "GET", "/1/apps/com.example.other/all-channels").body == #"{"channels":[]}"#)
    }

    @Test(
        arguments: [
            ("GET", path, nil, "", 400, "MissingChannelId"), ("DELETE", path, nil, "", 400, "MissingChannelId"),
            ("GET", path, "a b", "", 400, "BadChannelId"), ("DELETE", path, "a,b", "", 400, "BadChannelId"),
            ("GET", path, "YQ==", "", 400, "ChannelNotRegistered"),
            ("DELETE", path, "YQ==", "", 400, "ChannelNotRegistered"),
            ("POST", path, nil, "", 400, "PayloadEmpty"), ("POST", path, nil, "{", 400, "BadRequestPayload"),
            ("POST", path, nil, "[]", 400, "BadRequestPayload"), ("POST", path, nil, "{}", 400, "MissingPushType"),
            ("POST", path, nil, #"{"push-type":"alert"}"#, 400, "InvalidPushType"),
            ("POST", path, nil, #"{"push-type":"LiveActivity"}"#, 400, "BadRequestParams"),
            ("POST", path, nil, #"{"push-type":"LiveActivity","message-storage-policy":2}"#, 400, "BadRequestParams"),
            ("POST", path, nil, String(repeating: "x", count: 6000), 413, "PayloadTooLarge"),
            ("PUT", path, nil, "", 405, "MethodNotAllowed"), ("POST", all, nil, "", 405, "MethodNotAllowed"),
            ("GET", "/1/apps/com.example.ferry", nil, "", 404, "BadPath"),
            ("GET", "/1/apps/com.example.ferry/other", nil, "", 404, "BadPath"),
            ("GET", "/1/apps//channels", nil, "", 404, "BadPath"),
            ("GET", "/1/apps/a%2fb/channels", nil, "", 404, "BadPath"),
            ("GET", "/1/apps/com.example.ferry.voip/all-channels", nil, "", 400, "TopicDisallowed"),
        ] as [(String, String, String?, String, Int, String)]
    )
    func `a fault of the request has its reason and status`(
        method: String,
        path: String,
        channel: String?,
        body: String,
        status: Int,
        reason: String
    ) throws {
        let told = try Self.ask(APNsRehearsal(), method, path, channel: channel, body: body)
        #expect(told.reason == reason)
        #expect(told.status == status)
        #expect(told.fields["apns-request-id"] != nil)
    }

    private static let broadcasts = "/4/broadcasts/apps/com.example.ferry"

    /// A broadcast with these changes to its fields; an empty value removes a field.
    private static func broadcast(
        _ apns: APNsRehearsal,
        to channel: String,
        path: String = broadcasts,
        _ changes: [APNsRehearsal.Field] = [],
        body: String = #"{"aps":{"event":"update"}}"#
    ) throws -> Told {
        let usual: [APNsRehearsal.Field] = [
            ("apns-push-type", "liveactivity"), ("apns-priority", "10"), ("apns-expiration", "0"),
        ]
        let changed = Set(changes.map { "\($0.name)" })
        let list = (usual.filter { !changed.contains("\($0.name)") } + changes).filter { !$0.value.isEmpty }
        return try Self.ask(apns, "POST", path, channel: channel, fields: list, body: body)
    }

    @Test(arguments: ["liveactivity", "Liveactivity", "LiveActivity"])
    func `a broadcast to a channel is accepted and recorded, in each spelling of its push type`(type: String) throws {
        let apns = try APNsRehearsal()
        let id = try Self.create(apns)
        let told = try Self.broadcast(apns, to: id, [("apns-push-type", type), ("apns-expiration", "1900000000")])
        #expect(told.status == 200)
        #expect(told.body == "")
        #expect(told.fields["apns-request-id"]?.count == 36)
        #expect(told.fields["apns-id"] == nil)
        let recorded = try #require(apns.memory.requests.first)
        #expect(recorded.accepted.channelID == id)
        #expect(recorded.accepted.topic == "com.example.ferry")
        #expect(recorded.accepted.expiration == 1_900_000_000)
        #expect(apns.memory.requests.count == 1)
    }

    @Test(
        arguments: [
            ("apns-push-type", "", "MissingPushType"), ("apns-push-type", "alert", "InvalidPushType"),
            ("apns-priority", "", "BadPriority"), ("apns-priority", "7", "BadPriority"),
            ("apns-expiration", "", "BadExpirationDate"), ("apns-expiration", "x", "BadExpirationDate"),
            ("apns-expiration", "1900000000", "BadExpirationDate"), ("apns-request-id", "x", "BadMessageId"),
        ] as [(StaticString, String, String)]
    )
    func `a fault of a broadcast has its reason`(name: StaticString, value: String, reason: String) throws {
        let apns = try APNsRehearsal()
        let id = try Self.create(apns, #"{"push-type":"LiveActivity","message-storage-policy":0}"#)
        #expect(try Self.broadcast(apns, to: id, [(name, value)]).reason == reason)
        #expect(try Self.broadcast(apns, to: id).status == 200)
        #expect(apns.memory.requests.count == 1)
    }

    @Test func `a broadcast needs a path, a channel of the app, and a body of the right size`() throws {
        let apns = try APNsRehearsal()
        let id = try Self.create(apns)
        #expect(try Self.broadcast(apns, to: "YQ==").reason == "ChannelNotRegistered")
        #expect(try Self.broadcast(apns, to: "a b").reason == "BadChannelId")
        #expect(try Self.ask(apns, "POST", Self.broadcasts, body: "{}").reason == "MissingChannelId")
        #expect(try Self.ask(apns, "GET", Self.broadcasts, channel: id).reason == "MethodNotAllowed")
        #expect(try Self.broadcast(apns, to: id, path: Self.broadcasts + "/x").reason == "BadPath")
        #expect(try Self.broadcast(apns, to: id, path: Self.broadcasts + ".voip").reason == "TopicDisallowed")
        #expect(try Self.broadcast(apns, to: id, body: "").reason == "PayloadEmpty")
        #expect(try Self.broadcast(apns, to: id, body: String(repeating: "x", count: 5120)).status == 200)
        let long = try Self.broadcast(apns, to: id, body: String(repeating: "x", count: 5121))
        #expect(long.reason == "PayloadTooLarge")
        #expect(long.status == 413)
    }

    @Test func `a rule about broadcasts leaves the other requests about channels alone`() throws {
        var script = HTTP2Script.withoutTokens()
        script.rules = [HTTP2Rule(channels: [.broadcast], reason: .featureNotEnabled)]
        let apns = try APNsRehearsal(script)
        let id = try Self.create(apns)
        #expect(try Self.broadcast(apns, to: id).reason == "FeatureNotEnabled")
        #expect(try Self.ask(apns, "GET", channel: id).status == 200)
    }

    @Test func `credentials, names and topics are checked`() throws {
        let name: [APNsRehearsal.Field] = [("apns-request-id", "no-uuid")]
        #expect(try Self.ask(APNsRehearsal(), "GET", Self.all, fields: name).reason == "BadMessageId")
        let stranger = try APNsRehearsal(HTTP2Script())
        #expect(try Self.ask(stranger, "GET", Self.all).reason == "MissingProviderToken")
        let other = try APNsRehearsal(certificateTopics: ["com.example.other"])
        let mismatch = try Self.ask(other, "GET", Self.all)
        #expect(mismatch.reason == "TopicMismatch")
        #expect(mismatch.status == 403)
        var script = HTTP2Script.withoutTokens()
        script.topics = ["com.example.other"]
        #expect(try Self.ask(APNsRehearsal(script), "GET", Self.all).reason == "TopicDisallowed")
    }

    @Test func `an app has at most 10,000 channels`() throws {
        let apns = try APNsRehearsal()
        for _ in 0..<10_000 { _ = try Self.create(apns) }
        let told = try Self.ask(apns, "POST", body: Self.creation)
        #expect(told.reason == "CannotCreateChannelConfig")
        #expect(told.status == 400)
    }

    // MARK: Rules

    @Test func `a rule refuses requests about channels, and leaves notifications alone`() throws {
        let apns = try APNsRehearsal(
            .withoutTokens(
                HTTP2Rule(channels: [.create, .list], reason: .featureNotEnabled),
                HTTP2Rule(channels: [.read], status: 503)
            )
        )
        #expect(try Self.ask(apns, "POST", body: Self.creation).reason == "FeatureNotEnabled")
        #expect(try Self.ask(apns, "GET", Self.all).reason == "FeatureNotEnabled")
        #expect(try apns.ask()?.status == 200)
    }

    @Test(arguments: ChannelReasonRule.all) func `a rule can give each reason with its status`(row: ChannelReasonRule)
        throws
    {
        let apns = try APNsRehearsal(.withoutTokens(HTTP2Rule(channels: [.list], reason: row.reason)))
        let told = try Self.ask(apns, "GET", Self.all)
        #expect(told.reason == row.reason.rawValue)
        #expect(told.status == row.status.rawValue)
    }

    @Test func `a lost answer is that of a channel that was made`() throws {
        let apns = try APNsRehearsal(.withoutTokens(HTTP2Rule(channels: [.create], action: .loseAnswer)))
        let told = try Self.ask(apns, "POST", body: Self.creation)
        #expect(told.status == nil)
        #expect(told.errorCode == HTTP2ErrorCode.internalError.rawValue)
        #expect(try Self.ask(apns, "GET", Self.all).body != #"{"channels":[]}"#)
        let pushes = try APNsRehearsal(.withoutTokens(HTTP2Rule(at: 1, action: .loseAnswer)))
        #expect(try pushes.ask()?.errorCode == HTTP2ErrorCode.internalError.rawValue)
        #expect(pushes.memory.requests.count == 1)
        #expect(pushes.counts.accepted == 1)
    }

    @Test func `silence, refused streams and resets make no channel, except with the fields of a success`() throws {
        let rules: [(HTTP2Rule, Bool)] = [
            (HTTP2Rule(channels: [.create], action: .silence), false),
            (HTTP2Rule(channels: [.create], action: .refuseStream), false),
            (HTTP2Rule(channels: [.create], action: .resetAfterHeaders, reason: .internalServerError), false),
            (HTTP2Rule(channels: [.create], action: .resetAfterHeaders), true),
        ]
        for (rule, isMade) in rules {
            let apns = try APNsRehearsal(.withoutTokens(rule))
            _ = try apns.ask(path: Self.path, topic: nil, body: Self.creation)
            #expect((try Self.ask(apns, "GET", Self.all).body != #"{"channels":[]}"#) == isMade)
        }
    }
}
