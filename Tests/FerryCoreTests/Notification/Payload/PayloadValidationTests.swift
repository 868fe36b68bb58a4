import FerryCore
import Foundation
import Testing

@Suite struct PayloadValidationTests {
    @Test func `All faults come at once, those beside the payload too`() throws {
        var payload = Payload(alert: "A", badge: -1, sound: .critical(name: "s", volume: 1.5))
        payload.relevanceScore = .nan
        payload.mdmPushMagic = ""
        payload.apsExtras["alert"] = try JSONFragment(json: "1")
        payload.custom["aps"] = try JSONFragment(json: "{}")
        payload.custom["mdm"] = try JSONFragment(json: "1")
        let error = #expect(throws: PushValidationError.self) { try PushNotification(payload, topic: "") }
        #expect(
            error?.faults.map(\.message) == [
                "the badge is negative",
                "the sound's volume is not within 0…1",
                "the relevance score is not within 0…1",
                "the MDM push magic is empty",
                "an MDM payload has no aps",
                "mdm is given twice",
                "aps is not a custom member",
                "alert has a field of its own and is not an extra of aps",
                "the topic is not 1 to 255 visible ASCII characters",
            ]
        )
    }

    @Test func `Building the JSON alone finds the payload's faults`() {
        let error = #expect(throws: PushValidationError.self) { try Payload(badge: -1).json() }
        #expect(error?.faults.map(\.code) == [.badPayloadField])
    }

    @Test func `A Live Activity may weigh more than 1, but it must weigh something`() throws {
        var payload = Payload()
        payload.liveActivity = .init(.end, timestamp: Date(timeIntervalSince1970: 1), contentState: nil)
        payload.relevanceScore = 100
        _ = try payload.json()
        payload.relevanceScore = .infinity
        #expect(throws: PushValidationError.self) { try payload.json() }
    }

    @Test func `A start and an update need a state`() throws {
        let attributes = try JSONFragment(json: "{}")
        let time = Date(timeIntervalSince1970: 1)
        var payload = Payload()
        payload.liveActivity = .init(.update, timestamp: time, contentState: nil)
        #expect(throws: PushValidationError.self) { try payload.json() }
        payload.liveActivity = .init(
            .start(attributesType: "", attributes: attributes),
            timestamp: time,
            contentState: nil
        )
        let error = #expect(throws: PushValidationError.self) { try payload.json() }
        #expect(error?.faults.count == 2)
    }

    @Test func `A payload beyond every protocol's limit is refused as a notification`() {
        let payload = Payload(alert: .init(body: String(repeating: "x", count: 6000)))
        let error = #expect(throws: PushValidationError.self) { try PushNotification(payload) }
        #expect(error?.faults.map(\.code) == [.payloadTooLarge])
    }

    @Test(arguments: ["", "{", "1 2", "nan", "'a'"])
    func `A fragment is one JSON value`(json: String) {
        let error = #expect(throws: PushValidationError.self) { try JSONFragment(json: json) }
        #expect(error?.faults.map(\.code) == [.payloadNotJSON])
    }

    @Test func `A fragment keeps its bytes, and an encoded one sorts its keys`() throws {
        #expect(try JSONFragment(json: " [ 1 ] ").bytes == Array(" [ 1 ] ".utf8))
        #expect(try JSONFragment(encoding: ["b": "x/y", "a": "1"]).bytes == Array(#"{"a":"1","b":"x/y"}"#.utf8))
    }

    @Test func `A value that cannot be encoded is refused without being quoted`() {
        let error = #expect(throws: PushValidationError.self) { try JSONFragment(encoding: ["secret": Double.nan]) }
        #expect(error?.faults.map(\.code) == [.encodingFailed])
        #expect(error?.description.contains("secret") == false)
    }
}
