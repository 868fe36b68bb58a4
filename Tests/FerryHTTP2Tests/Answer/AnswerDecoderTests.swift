import FerryCore
import FerryMachine
import Foundation
import Testing

@testable import FerryHTTP2

@Suite struct AnswerDecoderTests {
    private let id = "eabeae54-14a8-11e5-b60b-1697f925ec7b"

    @Test func `Status 200 with the id is an acceptance`() throws {
        let answer = try #require(decode([("apns-id", self.id), (":status", "200")]))
        #expect(answer == PushAnswer(status: .ok, apnsID: try APNSID(self.id)))
        #expect(answer.isAccepted)
        #expect(answer.rejection == nil)
        #expect(answer.retryRule == nil)
        #expect(!answer.countsAgainstConnection)
    }

    @Test func `Nothing in a body turns an acceptance into a refusal`() throws {
        let answer = try #require(decode([(":status", "200")], body: #"{"reason":"BadDeviceToken"}"#))
        #expect(answer == PushAnswer(status: .ok))
    }

    @Test(arguments: [201, 204, 302, 399]) func `No other status is an acceptance`(status: Int) throws {
        let answer = try #require(decode([(":status", "\(status)")]))
        #expect(!answer.isAccepted)
        #expect(answer.retryRule == .afterRepair)
    }

    @Test func `The unique id of the development environment is kept`() throws {
        let unique = "4084a6e4-9ea8-6d2a-ca49-9a344a152da7"
        let answer = try #require(decode([(":status", "200"), ("apns-unique-id", unique)]))
        #expect(answer.uniqueID == unique)
    }

    @Test(arguments: [String(repeating: "x", count: 129), "a\nb", "ä"])
    func `A unique id that is none is left out`(value: String) throws {
        #expect(try #require(decode([(":status", "200"), ("apns-unique-id", value)])).uniqueID == nil)
    }

    @Test func `Fields of other names are passed over`() throws {
        let fields = [
            (":status", "200"), ("date", "Mon"), ("apns-uniqu-id", "x"), ("apns-ie", self.id), ("", self.id),
            (":statut", "400"),
        ]
        #expect(decode(fields) == PushAnswer(status: .ok))
    }

    @Test(arguments: [[], [("apns-id", "x")], [(":status", "0")], [(":status", "")]] as [[(String, String)]])
    func `Without a status there is no answer`(fields: [(String, String)]) {
        #expect(decode(fields) == nil)
    }

    @Test func `A refusal has reason, id and status`() throws {
        let fields = [(":status", "400"), ("content-type", "application/json"), ("apns-id", self.id)]
        let answer = try #require(decode(fields, body: #"{ "reason" : "BadDeviceToken" }"#))
        #expect(answer.reason == .badDeviceToken)
        #expect(answer.apnsID == (try APNSID(self.id)))
        #expect(answer.rejection == Rejection(reason: .badDeviceToken, origin: .apns, status: 400))
    }

    @Test func `A device token that is gone has the time in milliseconds`() throws {
        let body = #"{"timestamp":1437179036000,"reason":"Unregistered"}"#
        let answer = try #require(decode([(":status", "410")], body: body))
        #expect(
            answer.rejection
                == Rejection(
                    reason: .unregistered,
                    origin: .apns,
                    status: 410,
                    timestamp: Date(timeIntervalSince1970: 1_437_179_036)
                )
        )
        #expect(try #require(decode([(":status", "400")], body: body)).timestamp == nil)
    }

    @Test(arguments: [
        "-1", "1.5", "1e3", "253402300800000", "9223372036854775808", #""1437179036000""#, "null", "[1]", "true",
    ])
    func `A time of another form is left out and the reason kept`(time: String) throws {
        let body = #"{"reason":"ExpiredToken","timestamp":\#(time)}"#
        let answer = try #require(decode([(":status", "410")], body: body))
        #expect(answer.reason == .expiredToken)
        #expect(answer.timestamp == nil)
    }

    @Test func `The largest time is the end of the year 9999`() throws {
        let body = #"{"reason":"ExpiredToken","timestamp":253402300799999}"#
        #expect(try #require(decode([(":status", "410")], body: body)).timestamp == 253_402_300_799_999)
    }

    @Test func `A reason that Ferry does not know is kept`() throws {
        let answer = try #require(decode([(":status", "400")], body: #"{"reason":"FromNextYear"}"#))
        #expect(answer.rejection?.reason == Reason(rawValue: "FromNextYear"))
    }

    @Test(arguments: [
        (#"{"reason":"Bad\u0054opic"}"#, "BadTopic"), (#"{"re\u0061son":"BadTopic"}"#, "BadTopic"),
        (#" {"x":{"reason":"A"},"reason":"B","y":[1,"reason"]} "#, "B"),
        (#"{"reason":"A","reason":"B"}"#, "B"),
    ])
    func `The reason is read as JSON has it`(body: String, reason: String) throws {
        #expect(try #require(decode([(":status", "400")], body: body)).reason?.rawValue == reason)
    }

    @Test(arguments: [
        "", "{}", "null", "[]", #""BadTopic""#, "BadTopic", "<html>404</html>", #"{"reason":null}"#, #"{"reason":7}"#,
        #"{"reason":["BadTopic"]}"#, #"{"reason":{"reason":"BadTopic"}}"#, #"{"reason":""}"#, #"{"Reason":"BadTopic"}"#,
        #"{"reason":"BadTopic""#, #"{"reason":"BadTopic"}x"#, #"{"reason":"BadTopic",}"#, #"{"reason":"Bad"#,
        #"{"reason":"Bad\nTopic"}"#, #"{"reason":"Bad\u0000"}"#, #"{"reason":"\ud800"}"#, #"{"reason":"Bäd"}"#,
        #"{"reason":"\#(String(repeating: "x", count: 129))"}"#, "\u{feff}{}",
    ])
    func `A body that names no reason leaves the status to speak`(body: String) throws {
        let answer = try #require(decode([(":status", "503")], body: body))
        #expect(answer.reason == nil)
        #expect(answer.rejection == Rejection(reason: .unknown, origin: .apns, status: 503))
        #expect(answer.retryRule == .later)
    }

    @Test func `A body beyond the limit is not read`() throws {
        let reason = #"{"reason":"BadTopic""#
        for (length, expected) in [(AnswerBody.maximumLength, Reason.badTopic), (AnswerBody.maximumLength + 1, nil)] {
            let body = reason + String(repeating: " ", count: length - reason.utf8.count - 1) + "}"
            #expect(try #require(decode([(":status", "400")], body: body)).reason == expected)
        }
    }

    @Test(arguments: ["[", #"{"a":"#, #"{"\u0061":0,"#, #"{"reason":"\u0061"#, "\"", "{", "1", "\\", " "])
    func `A hostile body of the greatest length tells nothing`(piece: String) throws {
        let body = String(repeating: piece, count: AnswerBody.maximumLength / piece.utf8.count)
        let answer = try #require(decode([(":status", "400")], body: body))
        #expect(answer.reason == nil)
    }

    @Test func `Random bodies name a reason only where they are whole objects`() throws {
        var generator = SplitMix64(seed: 7)
        let seeds = [
            #"{"reason":"Unregistered","timestamp":1437179036000}"#, #"{"reason":"Bad\u0054opic"}"#,
            #"{"a":[{"b":"c"}],"reason":"X"}"#,
        ]
        var (named, silent) = (0, 0)
        for round in 0..<20_000 {
            var body = Array(generator.pick(seeds).utf8)
            for _ in 0..<Int.random(in: 0...3, using: &generator) where !body.isEmpty {
                let place = Int.random(in: body.indices, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: body[place] = UInt8.random(in: .min ... .max, using: &generator)
                case 1: body.remove(at: place)
                case 2: body.insert(UInt8.random(in: 0x20...0x7e, using: &generator), at: place)
                default: body.removeLast(body.count - place)
                }
            }
            let answer = try #require(decode([(":status", "410")], body: body))
            let isObject = body.withUnsafeBufferPointer { JSONScanner.isObject($0) }
            if answer.reason != nil || answer.timestamp != nil {
                named += 1
                #expect(isObject, "round \(round)")
            } else {
                silent += 1
            }
            if let reason = answer.reason { #expect(1...AnswerBody.maximumReasonLength ~= reason.rawValue.utf8.count) }
        }
        #expect(named > 1000 && silent > 1000)
    }
}
