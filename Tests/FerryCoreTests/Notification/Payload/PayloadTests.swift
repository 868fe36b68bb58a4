import FerryCore
import Testing

@Suite struct PayloadTests {
    @Test func `An empty payload is an empty object`() throws {
        #expect(try Self.json(Payload()) == "{}")
    }

    @Test func `An alert of nothing but a body is plain text`() throws {
        #expect(try Self.json(Payload(alert: "Hello")) == #"{"aps":{"alert":"Hello"}}"#)
    }

    @Test func `Everything an alert can hold stands in the documented order`() throws {
        var alert = Payload.Alert(title: "T", subtitle: "S", body: "B")
        alert.launchImage = "L.png"
        (alert.titleLocKey, alert.titleLocArgs) = ("TK", ["1"])
        (alert.subtitleLocKey, alert.subtitleLocArgs) = ("SK", ["2", "3"])
        (alert.locKey, alert.locArgs) = ("BK", [])
        (alert.action, alert.actionLocKey) = ("A", "AK")
        #expect(
            try Self.json(Payload(alert: alert))
                == #"{"aps":{"alert":{"title":"T","subtitle":"S","body":"B","launch-image":"L.png","title-loc-key":"TK","#
                + #""title-loc-args":["1"],"subtitle-loc-key":"SK","subtitle-loc-args":["2","3"],"loc-key":"BK","#
                + #""loc-args":[],"action":"A","action-loc-key":"AK"}}}"#
        )
    }

    @Test func `Everything aps can hold stands in the documented order`() throws {
        var payload = Payload(alert: "A", badge: 3, sound: "default")
        payload.threadID = "thread"
        payload.category = "category"
        payload.isContentAvailable = true
        payload.isMutableContent = true
        payload.targetContentID = "window"
        payload.interruptionLevel = .timeSensitive
        payload.relevanceScore = 0.5
        payload.filterCriteria = "work"
        payload.urlArguments = ["a/b", "c"]
        payload.apsExtras = ["zeta": try JSONFragment(json: "[1, 2]"), "eta": try JSONFragment(json: "null")]
        payload.custom = ["é": try JSONFragment(encoding: 1), "z": try JSONFragment(json: #"{"b":1,"a":2}"#)]
        #expect(
            try Self.json(payload)
                == #"{"aps":{"alert":"A","badge":3,"sound":"default","thread-id":"thread","category":"category","#
                + #""content-available":1,"mutable-content":1,"target-content-id":"window","#
                + #""interruption-level":"time-sensitive","relevance-score":0.5,"filter-criteria":"work","#
                + #""url-args":["a/b","c"],"eta":null,"zeta":[1, 2]},"z":{"b":1,"a":2},"é":1}"#
        )
    }

    @Test func `A critical sound is an object`() throws {
        let payload = Payload(sound: .critical(name: "alarm.aiff", volume: 0.25))
        #expect(
            try Self.json(payload) == #"{"aps":{"sound":{"critical":1,"name":"alarm.aiff","volume":0.25}}}"#
        )
    }

    @Test func `Badge 0 is kept, because it removes the badge`() throws {
        #expect(try Self.json(Payload(badge: 0)) == #"{"aps":{"badge":0}}"#)
    }

    @Test func `An MDM payload is the push magic alone`() throws {
        var payload = Payload()
        payload.mdmPushMagic = "93A5B9F2-7BE4"
        #expect(try Self.json(payload) == #"{"mdm":"93A5B9F2-7BE4"}"#)
    }

    @Test func `Text is escaped where JSON demands it and nowhere else`() throws {
        let payload = Payload(alert: .init(body: "\"\\/\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}é\u{2028}💣"))
        #expect(
            try Self.json(payload)
                == "{\"aps\":{\"alert\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}é\u{2028}💣\"}}"
        )
    }

    @Test func `Building changes nothing, and what is cleared is gone`() throws {
        var payload = Payload(alert: "A", badge: 1, sound: "s")
        payload.custom["id"] = try JSONFragment(json: "7")
        let before = payload
        let first = try Self.json(payload)
        #expect(try Self.json(payload) == first)
        #expect(payload == before)

        var copy = payload
        (copy.alert, copy.badge, copy.sound, copy.custom["id"]) = (nil, nil, nil, nil)
        #expect(try Self.json(copy) == "{}")
        #expect(try Self.json(payload) == first)
    }

    @Test func `The same members give the same bytes in whatever order they were set`() throws {
        var (one, other) = (Payload(), Payload())
        let names = (0..<50).map { "name\($0)" }
        for name in names { one.custom[name] = try JSONFragment(encoding: name) }
        for name in names.reversed() { other.custom[name] = try JSONFragment(encoding: name) }
        #expect(try one.json() == other.json())
    }

    static func json(_ payload: Payload) throws -> String {
        let json = try payload.json()
        // A notification must take the payload's bytes unchanged.
        #expect(try PushNotification(payload).payload == json)
        return String(decoding: json, as: UTF8.self)
    }
}
