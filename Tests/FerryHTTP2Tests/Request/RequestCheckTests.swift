import FerryCore
import FerryHTTP2
import FerryMachine
import Testing

@Suite struct RequestCheckTests {
    private let check = RequestCheck(bundleID: nil, usesTokens: true)

    /// Returns the fault of a notification, and checks that the check of values and the check of a batch entry agree.
    private func verdict(
        by check: RequestCheck? = nil,
        topic: String? = "com.example.app",
        _ type: PushType? = nil,
        priority: Priority? = nil,
        collapseID: String? = nil,
        payload: Int = 100,
        token: Int = 32
    ) throws -> RequestFault? {
        let check = check ?? self.check
        let notification = PushNotification(
            uncheckedPayload: Array(repeating: 0x20, count: payload),
            topic: topic,
            pushType: type,
            priority: priority,
            expiration: nil,
            collapseID: collapseID,
            apnsID: nil
        )
        let device = DeviceToken(unchecked: Array(repeating: 0xab, count: token))
        let fault = check.fault(of: notification, to: device)
        var batch = PushBatch()
        try batch.append(notification, to: device, tag: PushTag(1))
        let run = batch.takeFirst(1)
        #expect(check.fault(of: run.entries[0], in: run.storage.arena) == fault)
        return fault
    }

    @Test(arguments: PushType.allCases)
    func `Every push type passes with its own topic and priority`(type: PushType) throws {
        let rules = try #require(self.check.table[type.code])
        for priority in rules.priorities + [nil] {
            let fault = try verdict(
                topic: "com.example.app" + rules.suffix.text,
                type,
                priority: priority,
                collapseID: String(repeating: "c", count: 64),
                payload: rules.payloadLimit
            )
            #expect(fault == nil)
        }
    }

    @Test func `Without a push type every topic and priority passes`() throws {
        for topic in ["com.example.app", "com.example.app.voip", "com.example.app.push-type.widgets"] {
            for priority in Priority.allCases + [nil] {
                #expect(try verdict(topic: topic, priority: priority) == nil)
            }
        }
    }

    @Test func `A payload over the limit of its push type is refused with both numbers`() throws {
        for rules in self.check.table.all {
            let topic = "com.example.app" + rules.suffix.text
            let fault = try #require(try verdict(topic: topic, rules.type, payload: rules.payloadLimit + 1))
            #expect(fault.reason == .payloadTooLarge)
            let (length, limit) = (rules.payloadLimit + 1, rules.payloadLimit)
            #expect(fault.message == "the payload has \(length) bytes; the limit is \(limit)")
        }
        #expect(try verdict(payload: 4096) == nil)
        #expect(try verdict(payload: 4097)?.reason == .payloadTooLarge)
    }

    @Test func `Without a push type a VoIP topic has the limit of VoIP`() throws {
        #expect(try verdict(topic: "com.example.app.voip", payload: 5120) == nil)
        #expect(try verdict(topic: "com.example.app.voip", payload: 5121)?.reason == .payloadTooLarge)
    }

    @Test func `An empty payload and an empty token are refused`() throws {
        #expect(try verdict(payload: 0)?.reason == .payloadEmpty)
        #expect(try verdict(token: 0)?.reason == .missingDeviceToken)
        #expect(try verdict(token: 100) == nil)
        #expect(try verdict(token: 101)?.message == "the device token has 101 bytes; the limit is 100")
        #expect(try verdict(token: 101)?.reason == .badDeviceToken)
    }

    @Test func `Provider tokens need a topic, a certificate has one`() throws {
        #expect(try verdict(topic: nil)?.reason == .missingTopic)
        #expect(try verdict(by: RequestCheck(bundleID: nil, usesTokens: false), topic: nil, .voip) == nil)
        #expect(try verdict(by: RequestCheck(bundleID: "com.example.app", usesTokens: true), topic: nil, .voip) == nil)
    }

    @Test(
        arguments: PushType.allCases.filter { PushTypeTable()[$0.code]?.suffix.isEmpty == false }
    )
    func `A topic without the suffix of its push type is refused`(type: PushType) throws {
        let suffix = try #require(self.check.table[type.code]).suffix.text
        for topic in ["com.example.app", suffix, "com.example.app\(suffix)x", "com.example.app.mdm"] {
            let fault = try #require(try verdict(topic: topic, type))
            #expect(fault.reason == .badTopic)
            #expect(fault.message.contains("does not end in \(suffix)"))
            #expect(fault.message.contains("push type \(type.rawValue)"))
        }
    }

    @Test(
        arguments: PushType.allCases.filter { PushTypeTable()[$0.code]?.suffix.isEmpty == false && $0 != .location }
    )
    func `The provider's bundle ID gets the suffix of the push type, as without a topic`(type: PushType) throws {
        let check = RequestCheck(bundleID: "com.example.app", usesTokens: true)
        #expect(try verdict(by: check, topic: "com.example.app", type) == nil)
        #expect(try verdict(by: check, topic: "com.example.other", type)?.reason == .badTopic)
    }

    @Test(arguments: [PushType.alert, .background, .mdm])
    func `A topic with the suffix of another push type is refused`(type: PushType) throws {
        for other in self.check.table.all where !other.suffix.isEmpty {
            let fault = try #require(try verdict(topic: "com.example.app" + other.suffix.text, type))
            #expect(fault.reason == .badTopic)
            #expect(fault.message.contains(other.suffix.text))
            #expect(fault.message.contains("the push type is \(type.rawValue)"))
        }
    }

    @Test func `An app whose bundle ID ends like a suffix gets its alerts`() throws {
        let check = RequestCheck(bundleID: "com.example.voip", usesTokens: true)
        #expect(try verdict(by: check, topic: "com.example.voip", .alert) == nil)
        #expect(try verdict(by: check, topic: "com.other.voip", .alert)?.reason == .badTopic)
    }

    @Test func `The suffix of complications follows the table`() throws {
        let check = RequestCheck(
            bundleID: nil,
            usesTokens: true,
            table: PushTypeTable(complicationSuffix: .none)
        )
        #expect(try verdict(by: check, topic: "com.example.app", .complication) == nil)
        #expect(try verdict(by: check, topic: "com.example.app.complication", .complication) == nil)
        #expect(try verdict(by: check, topic: "com.example.app.voip", .complication)?.reason == .badTopic)
    }

    @Test(arguments: [Priority.immediate, .low])
    func `A background notification goes with priority 5 alone`(priority: Priority) throws {
        let fault = try #require(try verdict(.background, priority: priority))
        #expect(fault.reason == .badPriority)
        #expect(fault.message == "the priority is \(priority.rawValue); push type background takes 5")
    }

    @Test func `A Live Activity has no priority 1`() throws {
        let topic = "com.example.app.push-type.liveactivity"
        let fault = try #require(try verdict(topic: topic, .liveactivity, priority: .low))
        #expect(fault.message == "the priority is 1; push type liveactivity takes 10, 5")
    }

    @Test func `Location needs provider tokens`() throws {
        let check = RequestCheck(bundleID: nil, usesTokens: false)
        let fault = try #require(try verdict(by: check, topic: "com.example.app.location-query", .location))
        #expect(fault.reason == .forbidden)
        #expect(fault.message.contains("location needs provider tokens"))
    }

    @Test func `A collapse id beyond 64 bytes is refused`() throws {
        let fault = try #require(try verdict(collapseID: String(repeating: "ä", count: 33)))
        #expect(fault == RequestFault(.badCollapseID, "the collapse id has 66 bytes; the limit is 64"))
        #expect(fault.rejection == Rejection(reason: .badCollapseID, origin: .ferry))
    }

    @Test(arguments: [" news", "news ", "\tnews", "news\t", " ", "a\nb", "a\u{0}b", "a\u{7f}b", "a\r\nb: c"])
    func `A collapse id that HTTP cannot carry is refused`(collapseID: String) throws {
        let fault = try #require(try verdict(collapseID: collapseID))
        #expect(fault.rejection == Rejection(reason: .badCollapseID, origin: .ferry))
        #expect(fault.message.contains("white space"))
    }

    @Test(arguments: ["two words", "a\tb", "äöü", "!~", "n"])
    func `A collapse id of any other bytes passes`(collapseID: String) throws {
        #expect(try verdict(collapseID: collapseID) == nil)
    }

    @Test func `Codes that no type and no priority has are refused`() {
        for (type, priority, reason) in [
            (12, 0, Reason.invalidPushType), (255, 10, .invalidPushType), (0, 7, .badPriority), (1, 16, .badPriority),
        ] {
            let fault = withBytes("com.example.app") { topic in
                self.check.fault(
                    tokenLength: 32,
                    topic: topic,
                    pushType: UInt8(type),
                    priority: UInt8(priority),
                    collapseID: UnsafeBufferPointer(start: nil, count: 0),
                    payloadLength: 2
                )
            }
            #expect(fault?.reason == reason)
        }
    }

    @Test func `Any bytes get a verdict, and no fault quotes the topic`() {
        var generator = SplitMix64(seed: 23)
        let secret = "com.example.secret"
        var (good, bad) = (0, 0)
        for _ in 0..<50_000 {
            let suffix = generator.pick(self.check.table.all).suffix.text
            let topic = generator.pick(["", secret, secret + suffix, suffix])
            let collapseID = String(repeating: "c", count: Int.random(in: 0...70, using: &generator))
            let fault = withBytes(topic) { topic in
                withBytes(collapseID + generator.pick(["", "", " ", "\t", "\r\n"])) { collapseID in
                    self.check.fault(
                        tokenLength: Int.random(in: 0...120, using: &generator),
                        topic: topic,
                        pushType: UInt8.random(in: 0...13, using: &generator),
                        priority: generator.pick([0, 1, 5, 10, UInt8.random(in: .min ... .max, using: &generator)]),
                        collapseID: collapseID,
                        payloadLength: Int.random(in: 0...5200, using: &generator)
                    )
                }
            }
            guard let fault else {
                good += 1
                continue
            }
            bad += 1
            #expect(fault.reason.explanation != nil)
            #expect(!fault.message.contains("secret"))
        }
        #expect(good > 1000 && bad > 1000)
    }
}
