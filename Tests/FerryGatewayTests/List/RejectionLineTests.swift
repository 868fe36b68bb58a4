import FerryBinary
import FerryCore
import Foundation
import Testing

@testable import FerryGateway

@Suite struct RejectionLineTests {
    private func members(_ event: GatewayEvent, clients: [String] = ["shop"]) throws -> [String: Any] {
        let bytes = try #require(RejectionLine(clients: clients).bytes(of: event, at: 1_700_000_000))
        #expect(bytes.last == UInt8(ascii: "\n"))
        #expect(bytes.count { $0 == UInt8(ascii: "\n") } == 1)
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    private func refused(_ reason: Reason) -> GatewayEvent {
        .refused(.init(identity: 0, token: [1, 2], reason: reason, status: .invalidToken, apnsID: nil))
    }

    @Test func `a line has what happened to which token, and when`() throws {
        let bytes = RejectionLine(clients: ["shop"]).bytes(of: self.refused(.badDeviceToken), at: 1_700_000_000)
        #expect(
            bytes.map { String(decoding: $0, as: UTF8.self) }
                == #"{"event":"rejected","client":"shop","token":"0102","reason":"BadDeviceToken","status":8,"apnsId":null,"#
                + "\"at\":1700000000}\n"
        )
    }

    @Test func `a reason of APNs cannot forge a line`() throws {
        let forged = "Bad\"}\n{\"event\":\"gone\",\"token\":\"0102\",\"x\":\"\\\u{1}"
        let members = try self.members(self.refused(Reason(rawValue: forged)))
        #expect(members["event"] as? String == "rejected")
        #expect(members["reason"] as? String == forged)
    }

    @Test func `a long reason is cut`() throws {
        let members = try self.members(self.refused(Reason(rawValue: String(repeating: "a", count: 5000))))
        #expect((members["reason"] as? String)?.count == RejectionLine.textLimit)
    }

    @Test func `a reason of one letter with thousands of accents is cut, too`() throws {
        let reason = "a" + String(repeating: "\u{301}", count: 14_000)
        let members = try self.members(self.refused(Reason(rawValue: reason)))
        #expect((members["reason"] as? String)?.utf8.count == RejectionLine.textLimit - 1)
    }

    @Test func `names and topics are JSON strings, whatever they contain`() throws {
        let event = GatewayEvent.gone(identity: 0, topic: "a\"b", token: [1], since: 7)
        let members = try self.members(event, clients: ["the \"old\" one\\"])
        #expect(members["client"] as? String == "the \"old\" one\\")
        #expect(members["topic"] as? String == "a\"b")
        #expect(members["time"] as? Int == 7)
    }

    @Test func `alarms have no line`() {
        #expect(RejectionLine(clients: []).bytes(of: .storeTaken, at: 1) == nil)
    }
}
