import FerryCore
import Testing

@Suite struct PushNotificationTests {
    @Test func `What is printed shows neither payload nor token`() throws {
        let notification = try PushNotification(json: Array(#"{"aps":{"alert":"secret"}}"#.utf8), topic: "com.example")
        #expect("\(notification)" == "notification for com.example with a payload of 26 bytes")
        let rejection = Rejection(reason: .badDeviceToken, origin: .apns, status: 400, timestamp: nil)
        let device = try DeviceToken(Array(repeating: 0xab, count: 32))
        let event = ProviderEvent.transmissionError(rejection, tag: nil, notification: notification, device: device)
        let secret = Array("secret".utf8).map(String.init).joined(separator: ", ")
        for text in ["\(event)", String(reflecting: event)] {
            #expect(
                !text.contains("secret") && !text.contains(secret) && !text.contains("abab") && !text.contains("171")
            )
        }
    }

    @Test func `The payload goes out byte for byte`() throws {
        let json = #" { "aps" : { "alert" : "\/ é" } , "aps":1 } "#
        #expect(try PushNotification(json: json.utf8).payload == Array(json.utf8))
    }

    @Test func `All faults come at once`() {
        let error = #expect(throws: PushValidationError.self) {
            try PushNotification(
                json: [UInt8](repeating: UInt8(ascii: "x"), count: 6000),
                topic: "com.example app",
                collapseID: String(repeating: "é", count: 33) + "\n"
            )
        }
        #expect(
            error?.faults.map(\.code)
                == [.payloadTooLarge, .payloadNotJSON, .badTopic, .badCollapseID, .badCollapseID]
        )
    }

    @Test func `The largest payload of any protocol is taken, one byte more is not`() throws {
        func json(_ count: Int) -> [UInt8] { Array("{}".utf8) + [UInt8](repeating: 0x20, count: count - 2) }
        #expect(try PushNotification(json: json(5120)).payload.count == 5120)
        let error = #expect(throws: PushValidationError.self) { try PushNotification(json: json(5121)) }
        #expect(error?.faults.map(\.code) == [.payloadTooLarge])
    }

    @Test func `An empty payload is one fault, not two`() {
        let error = #expect(throws: PushValidationError.self) { try PushNotification(json: []) }
        #expect(error?.faults.map(\.code) == [.emptyPayload])
    }

    @Test func `The message says where the JSON breaks and quotes nothing of it`() {
        let error = #expect(throws: PushValidationError.self) {
            try PushNotification(json: #"{"secret":'password'}"#.utf8)
        }
        #expect(error?.description == "the payload is not a JSON object: no value at byte 10")
    }

    @Test(arguments: ["", "a b", "é", "a\u{7f}", String(repeating: "a", count: 256)])
    func `A topic is 1 to 255 visible ASCII characters`(topic: String) {
        let error = #expect(throws: PushValidationError.self) { try PushNotification(json: "{}".utf8, topic: topic) }
        #expect(error?.faults.map(\.code) == [.badTopic])
    }

    @Test func `A collapse id is 1 to 64 bytes`() throws {
        let longest = String(repeating: "é", count: 32)
        #expect(try PushNotification(json: "{}".utf8, collapseID: longest).collapseID == longest)
        for bad in ["", longest + "a"] {
            let error = #expect(throws: PushValidationError.self) {
                try PushNotification(json: "{}".utf8, collapseID: bad)
            }
            #expect(error?.faults.map(\.code) == [.badCollapseID])
        }
    }

    @Test func `Any value that encodes as an object is a payload`() throws {
        struct Custom: Encodable {
            var url = "https://example.com/a"
            var aps = ["badge": 0]
        }
        let notification = try PushNotification(encoding: Custom(), topic: "com.example.app")
        #expect(
            String(decoding: notification.payload, as: UTF8.self)
                == #"{"aps":{"badge":0},"url":"https://example.com/a"}"#
        )
        #expect(notification.topic == "com.example.app")
    }

    @Test func `A value that encodes as anything else is refused`() {
        let array = #expect(throws: PushValidationError.self) { try PushNotification(encoding: [1, 2]) }
        #expect(array?.faults.map(\.code) == [.payloadNotJSON])
        let failing = #expect(throws: PushValidationError.self) { try PushNotification(encoding: ["a": Double.nan]) }
        #expect(failing?.faults.map(\.code) == [.encodingFailed])
    }
}
