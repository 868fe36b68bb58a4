import FerryCore
import FerryHTTP2
import Testing

@Suite struct PushTypeDerivationTests {
    private let check = RequestCheck(bundleID: "com.example.app", usesTokens: true)

    private func derived(
        _ payload: String,
        topic: String? = nil,
        priority: Priority? = nil,
        by check: RequestCheck? = nil
    ) throws -> (type: PushType?, priority: UInt8) {
        var batch = PushBatch()
        let notification = try PushNotification(json: payload.utf8, topic: topic, priority: priority)
        try batch.append(notification, to: DeviceToken([1, 2, 3, 4]), tag: 1)
        let run = batch.takeFirst(1)
        let check = check ?? self.check
        #expect(check.fault(of: run.entries[0], in: run.storage.arena) == nil)
        let (type, priority) = check.typeAndPriority(of: run.entries[0], in: run.storage.arena)
        return (PushType(code: type), priority)
    }

    @Test(
        arguments: [
            (".voip", .voip), (".location-query", .location), (".complication", .complication),
            (".pushkit.fileprovider", .fileprovider), (".push-type.liveactivity", .liveactivity),
            (".voip-ptt", .pushtotalk),
            (".push-type.widgets", .widgets), (".push-type.controls", .controls),
        ] as [(String, PushType)]
    )
    func `the suffix of the topic decides, whatever the payload has`(suffix: String, type: PushType) throws {
        for payload in [#"{}"#, #"{"aps":{"alert":"a"}}"#, #"{"aps":{"content-available":1}}"#] {
            #expect(try self.derived(payload, topic: "com.example.other" + suffix).type == type)
        }
    }

    @Test func `an app may be called like a suffix`() throws {
        let check = RequestCheck(bundleID: "com.example.voip", usesTokens: true)
        #expect(try self.derived(#"{"aps":{"alert":"a"}}"#, topic: "com.example.voip", by: check).type == nil)
        #expect(
            try self.derived(#"{"aps":{"content-available":1}}"#, topic: "com.example.voip", by: check).type
                == .background
        )
    }

    @Test(
        arguments: [
            (#"{"aps":{"content-available":1}}"#, .background),
            (#"{ "x": {"alert":1}, "aps" : { "content-available" : 1 , "category" : "c" } }"#, .background),
            (#"{"mdm":"PushMagic"}"#, .mdm),
            (#"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#, .liveactivity),
            (
                #"{"aps":{"event":"start","content-state":{},"attributes-type":"A","attributes":{},"alert":{}}}"#,
                .liveactivity
            ),
        ] as [(String, PushType)]
    )
    func `without a suffix the payload decides`(payload: String, type: PushType) throws {
        #expect(try self.derived(payload).type == type)
    }

    @Test(arguments: [
        "{}", #"{"aps":{}}"#, #"{"aps":{"alert":"mdm"}}"#, #"{"aps":{"alert":"a","content-available":1}}"#,
        #"{"aps":{"sound":"","content-available":1}}"#, #"{"aps":{"badge":0,"content-available":1}}"#,
        #"{"aps":{"content-available":0}}"#, #"{"aps":{"content-available":true}}"#,
        #"{"aps":{"content-available":"1"}}"#,
        #"{"content-available":1}"#, #"{"mdm":"m","aps":{"content-available":1}}"#, #"{"aps":{"content-state":{}}}"#,
        #"{"aps":{"content-state":{},"event":"pause"}}"#, #"{"aps":[{"content-available":1}]}"#,
        #"{"a":"\"mdm\""}"#,
    ])
    func `where nothing decides, there is none`(payload: String) throws {
        #expect(try self.derived(payload).type == nil)
        #expect(try self.derived(payload, topic: "com.example.other").type == nil)
    }

    @Test func `a live activity needs a topic that the suffix can be put behind`() throws {
        let payload = #"{"aps":{"event":"end","content-state":{}}}"#
        #expect(try self.derived(payload, topic: "com.example.app").type == nil)
        #expect(try self.derived(payload, by: RequestCheck(bundleID: nil, usesTokens: false)).type == nil)
    }

    @Test func `location is left to APNs where there are no provider tokens`() throws {
        let check = RequestCheck(bundleID: nil, usesTokens: false)
        #expect(try self.derived("{}", topic: "com.example.app.location-query", by: check).type == nil)
    }

    @Test func `a derived background notification goes out with priority 5, whatever was asked`() throws {
        for priority in Priority.allCases + [nil] {
            #expect(try self.derived(#"{"aps":{"content-available":1}}"#, priority: priority).priority == 5)
        }
        #expect(try self.derived("{}", topic: "a.push-type.liveactivity", priority: .low).priority == 5)
        #expect(try self.derived("{}", topic: "a.voip", priority: .immediate).priority == 10)
        #expect(try self.derived("{}", topic: "a.voip").priority == 0)
    }
}
