internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import FerryTesting
import Foundation
internal import NIOCore
internal import Testing

struct HTTP2RuleTests {
    static let bad = DeviceToken(unchecked: [0xba, 0xd0])

    static func rehearsal(_ rules: HTTP2Rule...) throws -> APNsRehearsal {
        var script = HTTP2Script(rules: rules)
        script.requiresToken = false
        return try APNsRehearsal(script)
    }

    @Test func `a rule answers certain devices with a reason or a status, and the other one follows`() throws {
        let rehearsal = try Self.rehearsal(
            .reject([Self.bad]),
            HTTP2Rule(prefix: [0x01], status: 410, timestamp: Date(timeIntervalSince1970: 0.017)),
            HTTP2Rule(prefix: [0x02], reason: .unregistered),
            HTTP2Rule(prefix: [0x03], status: 429, retryAfter: 60),
            HTTP2Rule(prefix: [0x04], status: 500),
            HTTP2Rule(prefix: [0x05], status: 503, reason: .shutdown),
            HTTP2Rule(prefix: [0x06], status: 418, reason: Reason(rawValue: "Teapot")),
            HTTP2Rule(prefix: [0x07], status: 200)
        )
        func ask(_ token: String) throws -> [String] {
            let told = try rehearsal.ask(token: token)
            return [told?.fields[":status"] ?? "", told?.body ?? ""]
        }
        #expect(try ask("bad0") == ["400", #"{"reason":"BadDeviceToken"}"#])
        #expect(try ask("bad1") == ["200", ""])
        #expect(try ask("01") == ["410", #"{"reason":"Unregistered","timestamp":17}"#])
        #expect(try ask("02ff") == ["410", #"{"reason":"Unregistered","timestamp":1700000000000}"#])
        #expect(try ask("03") == ["429", #"{"reason":"TooManyRequests"}"#])
        #expect(try rehearsal.ask(token: "03")?.fields["retry-after"] == "60")
        #expect(try ask("04") == ["500", #"{"reason":"InternalServerError"}"#])
        #expect(try ask("05") == ["503", #"{"reason":"Shutdown"}"#])
        #expect(try ask("06") == ["418", #"{"reason":"Teapot"}"#])
        #expect(try ask("07") == ["200", ""])
        #expect(rehearsal.memory.requests.map(\.token.bytes) == [[0xba, 0xd1], [7]])
        #expect(rehearsal.memory.requests.map(\.accepted.place) == [2, 10])
    }

    @Test func `a rule applies at a position, after a number, after every so many, and a number of times`() throws {
        let rehearsal = try Self.rehearsal(
            HTTP2Rule(at: 2, reason: .badTopic),
            HTTP2Rule(after: 3, reason: .badPriority),
            HTTP2Rule(every: 4, times: 2, reason: .shutdown)
        )
        let reasons = try (0..<16).map { _ in try rehearsal.ask()?.reason ?? "-" }
        #expect(
            reasons == [
                "-", "BadTopic", "-", "-", "BadPriority", "-", "Shutdown", "-", "-", "-", "-", "Shutdown", "-", "-",
                "-", "-",
            ]
        )
        #expect(rehearsal.counts.accepted == 12)
    }

    @Test func `a rule ends a connection after several refusals in a row, with or without a GOAWAY`() throws {
        let script = [
            HTTP2Rule(prefix: [0xba], reason: .badDeviceToken), HTTP2Rule(prefix: [0x90], status: 410),
            HTTP2Rule(refused: 3, action: .goAway, lastStream: .current),
        ]
        var rehearsal = try APNsRehearsal(rules: HTTP2Rules(.withoutTokens(script[0], script[1], script[2])))
        for token in ["bad0", "bad0", "01", "bad0", "90", "bad0"] { _ = try rehearsal.ask(token: token) }
        #expect(rehearsal.goAways.isEmpty)
        let last = try rehearsal.send(token: "bad0")
        let behind = try rehearsal.send(token: "01")
        try rehearsal.exchange()
        #expect(rehearsal.told[last]?.status == 400 && rehearsal.told[behind]?.status == nil)
        #expect(rehearsal.goAways.map(\.last) == [last])

        rehearsal = try APNsRehearsal(
            rules: HTTP2Rules(.withoutTokens(script[0], HTTP2Rule(refused: 2, action: .close)))
        )
        #expect(try rehearsal.ask(token: "bad0")?.status == 400)
        #expect(!rehearsal.isOver)
        #expect(try rehearsal.ask(token: "bad0")?.status == 400)
        #expect(rehearsal.isOver && rehearsal.goAways.isEmpty)
    }

    @Test func `a rule is applied as often over all connections as it says`() throws {
        let rules = HTTP2Rules(.withoutTokens(HTTP2Rule(at: 1, times: 2, status: 500)))
        let statuses = try (0..<3).map { _ in try APNsRehearsal(rules: rules).ask()?.status }
        #expect(statuses == [500, 500, 200])
    }

    @Test func `a rule delays one answer while others are given`() throws {
        let rehearsal = try Self.rehearsal(HTTP2Rule(at: 1, status: 500, delay: .seconds(2)))
        let slow = try rehearsal.send()
        #expect(try rehearsal.ask()?.status == 200)
        try rehearsal.advance(by: .milliseconds(1999))
        #expect(rehearsal.told[slow] == nil)
        try rehearsal.advance(by: .milliseconds(1))
        #expect(rehearsal.told[slow]?.status == 500)
    }

    @Test func `a rule refuses a stream`() throws {
        let rehearsal = try Self.rehearsal(HTTP2Rule(prefix: [0xba], action: .refuseStream))
        let told = try rehearsal.ask(token: "bad0")
        #expect(told == Told(errorCode: HTTP2ErrorCode.refusedStream.rawValue))
        #expect(try rehearsal.ask()?.status == 200)
        #expect(rehearsal.memory.requests.count == 1)
        #expect(rehearsal.counts.unanswered == 1)
    }

    @Test(arguments: [nil, 500])
    func `a rule resets a stream after the fields of its answer`(status: Int?) throws {
        let rehearsal = try Self.rehearsal(HTTP2Rule(at: 1, action: .resetAfterHeaders, status: status))
        let told = try rehearsal.ask(token: "bad0")
        #expect(told?.status == status ?? 200)
        #expect(told?.body == "")
        #expect(told?.errorCode == HTTP2ErrorCode.internalError.rawValue)
        #expect(rehearsal.memory.requests.map(\.token.bytes) == (status == nil ? [[0xba, 0xd0]] : []))
        #expect(try rehearsal.ask()?.status == 200)
    }

    @Test func `a rule leaves one request without an answer, and others are answered`() throws {
        let rehearsal = try Self.rehearsal(HTTP2Rule(at: 1, action: .silence))
        #expect(try rehearsal.ask() == nil)
        #expect(try rehearsal.ask()?.status == 200)
        #expect(rehearsal.wakes.isEmpty)
        #expect(rehearsal.memory.requests.map(\.accepted.place) == [2])
    }

    @Test func `a rule answers before the body has come`() throws {
        let rehearsal = try Self.rehearsal(HTTP2Rule(prefix: [0xba], action: .earlyAnswer))
        // The body is longer than the window, so its end cannot be sent before the answer.
        let told = try rehearsal.ask(token: "bad0", body: String(repeating: "x", count: 100_000))
        #expect(told?.status == 413)
        #expect(told?.reason == "PayloadTooLarge")
        #expect(try rehearsal.ask()?.status == 200)
        #expect(rehearsal.counts.rejected == 1)
        let next = try Self.rehearsal(HTTP2Rule(after: 1, action: .earlyAnswer, status: 503))
        #expect(try (0..<3).map { _ in try next.ask()?.status } == [200, 503, 200])
    }

    @Test func `a rule shrinks and grows the limit of streams`() throws {
        let rehearsal = try Self.rehearsal(
            HTTP2Rule(after: 1, action: .settings, maxConcurrentStreams: 1),
            HTTP2Rule(after: 2, action: .settings, maxConcurrentStreams: 50)
        )
        #expect(rehearsal.limits == [1000])
        #expect(try rehearsal.ask()?.status == 200)
        #expect(rehearsal.limits == [1000, 1])
        #expect(try rehearsal.ask()?.status == 200)
        #expect(rehearsal.limits == [1000, 1, 50])
    }

    @Test(arguments: [HTTP2Rule.Action.close, .reset])
    func `a rule ends a connection, and accepted requests are answered or not as it says`(action: HTTP2Rule.Action)
        throws
    {
        let rehearsal = try Self.rehearsal(.end(by: action, after: 2))
        let streams = try (0..<4).map { _ in try rehearsal.send() }
        try rehearsal.exchange()
        #expect(rehearsal.memory.requests.count == 2)
        #expect(
            streams.map { rehearsal.told[$0]?.status }
                == (action == .close ? [200, 200, nil, nil] : Array(repeating: nil, count: 4))
        )
        #expect(rehearsal.actions == (action == .reset ? [.reset] : []))
        #expect(rehearsal.isOver == (action == .close))
        #expect(rehearsal.goAways.isEmpty)
    }

    @Test func `a rule stops the reading, and no more answers follow`() throws {
        let rehearsal = try Self.rehearsal(.end(by: .stopReading, after: 1))
        #expect(try rehearsal.ask() == nil)
        #expect(try rehearsal.ask() == nil)
        #expect(rehearsal.actions == [.stopReading])
        #expect(!rehearsal.isOver)
        #expect(rehearsal.memory.requests.count == 1)
    }

    @Test func `the first of two rules for the same moment counts`() throws {
        let rehearsal = try Self.rehearsal(
            HTTP2Rule(prefix: [0xba], times: 1, status: 500),
            HTTP2Rule(prefix: [0xba], status: 503)
        )
        #expect(try (0..<3).map { _ in try rehearsal.ask(token: "bad0")?.status } == [500, 503, 503])
    }
}
