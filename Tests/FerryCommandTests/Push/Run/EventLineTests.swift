import Ferry
import Foundation
import Testing

@testable import FerryCommand

@Suite struct EventLineTests {
    static func line(_ outcome: Outcome, ref: String? = nil) -> String {
        let records = LineRecords(first: 7, capacity: 1)
        let hex = Array("00ff".utf8)
        hex.withUnsafeBufferPointer { hex in
            Array((ref ?? "").utf8).withUnsafeBufferPointer { bytes in
                records.append(7, ref: ref == nil ? nil : bytes, hex: hex)
            }
        }
        var bytes: [UInt8] = []
        _ = records.withBeginning(of: 7) { bytes.append(contentsOf: $0) }
        EventLine.append(OutcomeRecord(tag: 7, outcome: outcome), to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `every outcome has its line`() {
        let rejection = Rejection(reason: .badDeviceToken, origin: .gateway, status: 8)
        let expected: [(Outcome, String)] = [
            (.accepted(.confirmed), #""outcome":"accepted","proof":"confirmed""#),
            (.accepted(.presumed), #""outcome":"accepted","proof":"presumed""#),
            (.rejected(rejection), #""outcome":"rejected","reason":"BadDeviceToken","status":8,"origin":"gateway""#),
            (.expired, #""outcome":"expired""#),
            (.undelivered(.evicted), #""outcome":"undelivered","reason":"evicted""#),
            (.uncertain(.positionUnknown), #""outcome":"uncertain","reason":"positionUnknown""#),
        ]
        for (outcome, text) in expected {
            #expect(Self.line(outcome) == #"{"token":"00ff",\#(text)}"# + "\n")
        }
    }

    @Test func `over HTTP/2 the apns-id stands there, and the time of a 410`() throws {
        var bytes: [UInt8] = []
        let id = try APNSID("EABEAE54-14A8-11E5-B60B-1697F925EC7B")
        let gone = Rejection(
            reason: .unregistered,
            origin: .apns,
            status: 410,
            timestamp: Date(timeIntervalSince1970: 1_700_000_000)
        )
        EventLine.append(OutcomeRecord(tag: 7, outcome: .rejected(gone), apnsID: id), to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #","apnsId":"eabeae54-14a8-11e5-b60b-1697f925ec7b","outcome":"rejected","reason":"Unregistered","#
                + #""status":410,"timestamp":1700000000000,"origin":"apns"}"# + "\n"
        )
    }

    @Test func `the identifier of the delivery log stands there where APNs gave one`() {
        var bytes: [UInt8] = []
        let record = OutcomeRecord(tag: 7, outcome: .accepted(.confirmed), apnsUniqueID: #"a"b"#)
        EventLine.append(record, to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #","apnsUniqueId":"a\"b","outcome":"accepted","proof":"confirmed"}"# + "\n"
        )
    }

    @Test(
        arguments: [
            (.internalError, #","errorCode":2,"error":"INTERNAL_ERROR""#),
            (HTTP2ErrorCode(rawValue: 99), #","errorCode":99"#),
            (nil, ""),
        ] as [(HTTP2ErrorCode?, String)]
    )
    func `a reset request names the error code, by its name where it has one`(code: HTTP2ErrorCode?, text: String) {
        var bytes: [UInt8] = []
        EventLine.append(OutcomeRecord(tag: 7, outcome: .uncertain(.reset), errorCode: code), to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #","outcome":"uncertain","reason":"reset"\#(text)}"# + "\n"
        )
    }

    @Test(arguments: ["7", #""order \"7\"""#, #"{"a":[1,null]}"#, "null"])
    func `the reference stands as it was given`(ref: String) {
        #expect(Self.line(.expired, ref: ref) == #"{"ref":\#(ref),"token":"00ff","outcome":"expired"}"# + "\n")
    }

    @Test func `a reason that only its inventor knows is escaped`() {
        let rejection = Rejection(reason: Reason(rawValue: "So \"new\"\n\\"), origin: .apns)
        #expect(
            Self.line(.rejected(rejection))
                == #"{"token":"00ff","outcome":"rejected","reason":"So \"new\"\n\\","origin":"apns"}"# + "\n"
        )
    }

    @Test func `late news is no second outcome`() {
        var bytes: [UInt8] = []
        EventLine.append(.lost, line: 12, to: &bytes)
        EventLine.append(.lost, line: nil, count: 3, to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #""event":"contradicted","line":12,"reason":"lost"}"# + "\n"
                + #""event":"contradicted","count":3,"reason":"lost"}"# + "\n"
        )
    }
}
