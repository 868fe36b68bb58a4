import FerryCore
import Foundation
import Testing

@Suite struct LiveActivityTests {
    private struct State: Encodable {
        var score = 2
        var link = "a/b"
    }

    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    @Test func `A start names the attributes`() throws {
        var payload = Payload(alert: .init(title: "Game", body: "On"), sound: "horn.aiff")
        payload.relevanceScore = 75
        payload.liveActivity = Payload.LiveActivity(
            .start(attributesType: "GameAttributes", attributes: try JSONFragment(json: #"{"home":"A"}"#)),
            timestamp: self.now,
            contentState: try JSONFragment(encoding: State()),
            staleDate: Date(timeIntervalSince1970: 1_700_000_600)
        )
        #expect(
            try PayloadTests.json(payload)
                == #"{"aps":{"alert":{"title":"Game","body":"On","sound":"horn.aiff"},"relevance-score":75.0,"#
                + #""timestamp":1700000000,"event":"start","content-state":{"link":"a/b","score":2},"#
                + #""stale-date":1700000600,"attributes-type":"GameAttributes","attributes":{"home":"A"}}}"#
        )
    }

    @Test func `An update carries the state alone`() throws {
        var payload = Payload()
        payload.liveActivity = .init(.update, timestamp: self.now, contentState: try JSONFragment(json: "{}"))
        #expect(
            try PayloadTests.json(payload)
                == #"{"aps":{"timestamp":1700000000,"event":"update","content-state":{}}}"#
        )
    }

    @Test func `An end needs no state and may say when the activity goes`() throws {
        var payload = Payload()
        payload.liveActivity = .init(.end, timestamp: self.now, contentState: nil, dismissalDate: self.now)
        #expect(
            try PayloadTests.json(payload)
                == #"{"aps":{"timestamp":1700000000,"event":"end","dismissal-date":1700000000}}"#
        )
    }

    @Test func `A localised text takes the place of the text`() throws {
        var alert = Payload.Alert(title: "unused", body: "B")
        (alert.titleLocKey, alert.titleLocArgs) = ("%@ leads", ["A"])
        var payload = Payload(alert: alert)
        payload.liveActivity = .init(.end, timestamp: self.now, contentState: nil)
        #expect(
            try PayloadTests.json(payload)
                == #"{"aps":{"alert":{"title":{"loc-key":"%@ leads","loc-args":["A"]},"body":"B"},"#
                + #""timestamp":1700000000,"event":"end"}}"#
        )
    }

    @Test func `An alert is an object even when it is only text`() throws {
        var payload = Payload(alert: "B", sound: .critical(name: "s", volume: 1))
        payload.liveActivity = .init(.end, timestamp: self.now, contentState: nil)
        #expect(
            try PayloadTests.json(payload)
                == #"{"aps":{"alert":{"body":"B"},"sound":{"critical":1,"name":"s","volume":1.0},"#
                + #""timestamp":1700000000,"event":"end"}}"#
        )
    }
}
