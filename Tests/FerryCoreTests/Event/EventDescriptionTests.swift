import FerryCore
import Testing

@Suite struct EventDescriptionTests {
    @Test func `an event is one short line, however many tags it carries`() {
        let tags = (0..<100_000).map { PushTag(UInt64($0)) }
        let contradiction = Contradiction(count: tags.count, tags: tags, kind: .lost)
        let one = Contradiction(count: 1, upTo: 12, tags: [7], kind: .uncertain)
        let events: [(ProviderEvent, String)] = [
            (.transmitted(ConnectionID(3), tags: tags), "connection 3: 100000 written"),
            (.contradicted(contradiction), "100000 outcomes contradicted: lost"),
            (.contradicted(one), "1 of 12 outcomes contradicted: uncertain"),
            (.connected(ConnectionID(1), open: 2), "connection 1 is open, of 2"),
            (.resent(count: 5, afterOutcome: true), "5 are sent again, after their outcome"),
            (.error(ProviderError(.connectFailed, "No connection.")), "error: No connection."),
        ]
        for (event, line) in events { #expect("\(event)" == line) }
    }

    @Test func `a rejection shows its tag and reason, and no token`() throws {
        let device = try DeviceToken(hex: "00fc")
        let event = ProviderEvent.transmissionError(
            Rejection(reason: .badDeviceToken, origin: .gateway, status: 8),
            tag: 7,
            notification: try PushNotification(json: #"{"secret":1}"#.utf8),
            device: device
        )
        #expect("\(event)" == "rejected 7: BadDeviceToken")
    }
}
