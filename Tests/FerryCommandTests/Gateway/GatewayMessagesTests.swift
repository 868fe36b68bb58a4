import FerryCore
import Logging
import Synchronization
import Testing

@testable import FerryCommand
@testable import FerryGateway

@Suite struct GatewayMessagesTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { self.lines.withLock { $0 } }
        func append(_ line: String) { self.lines.withLock { $0.append(line) } }
    }

    private static func messages(_ lines: Lines) -> GatewayMessages {
        GatewayMessages(
            clients: ["shop", "news"],
            firstTopics: [.init(upstream: 0, name: "com.example.shop"), .init(upstream: 0, name: "com.example.news")],
            upstreams: ["apns"],
            list: "list",
            write: { lines.append($0) }
        )
    }

    @Test func `the end says how many expired, and how many may have arrived`() {
        let lines = Lines()
        var counts = GatewayCounts()
        (counts.read, counts.accepted) = (9, 9)
        Self.messages(lines).sayEnd(counts, kept: 0)
        (counts.accepted, counts.expired, counts.unknown) = (4, 3, 2)
        Self.messages(lines).sayEnd(counts, kept: 0)
        #expect(
            lines.all == [
                "ferry: read 9, of which 0 were copies; 9 accepted, 0 rejected, 0 gone; 0 error responses",
                "ferry: read 9, of which 0 were copies; 4 accepted, 0 rejected, 0 gone, 3 expired, "
                    + "2 without an answer, which may have arrived; 0 error responses",
            ]
        )
    }

    @Test func `an alarm says how many have no answer, and which clients are closed`() {
        let lines = Lines()
        var counts = GatewayCounts()
        counts.waiting = 120
        Self.messages(lines).say(.alarm(upstream: 0, topic: "com.example.shop", nil), counts)
        #expect(
            lines.all == [
                "ferry: alarm: apns cannot be used with its credentials, so com.example.shop is not delivered. Notifications "
                    + "wait (120 have no answer), and one a second tries. New connections of shop are closed meanwhile."
            ]
        )
    }

    @Test func `an upstream that takes nothing is said, and when it takes again`() {
        let lines = Lines()
        let messages = Self.messages(lines)
        var counts = GatewayCounts()
        counts.waiting = 120
        messages.say(.outage(upstream: 0, .serviceUnavailable), counts)
        messages.say(.outageOver(upstream: 0), counts)
        #expect(
            lines.all == [
                "ferry: alarm: apns answers everything with ServiceUnavailable. Notifications go out again until it takes "
                    + "them (120 have no answer).",
                "ferry: the alarm for apns is over",
            ]
        )
    }

    @Test func `the beginning of the end says what it waits for, and how long at most`() {
        let lines = Lines()
        let messages = Self.messages(lines)
        let alarm = GatewayEvent.alarm(upstream: 0, topic: "com.example.shop", .topicDisallowed)
        var counts = GatewayCounts()
        messages.sayStop(counts, within: .seconds(30))
        counts.waiting = 7
        messages.say(alarm, counts)
        messages.sayStop(counts, within: .seconds(30))
        messages.say(.allClear(upstream: 0, topic: "com.example.shop"), counts)
        messages.sayStop(counts, within: .seconds(30))
        let stop = "ferry: stops in 30 s at most, as soon as each client pauses and nothing waits"
        #expect(
            lines.all.filter { $0.hasPrefix("ferry: stops") } == [
                stop,
                "\(stop); 7 wait for an answer of APNs; the alarm for com.example.shop at apns goes on",
                "\(stop); 7 wait for an answer of APNs",
            ]
        )
    }

    @Test func `a refused client's advice names the member of the configuration`() {
        let lines = Lines()
        let reason = "It speaks TLS 1.0 and 1.1 only; use the legacy profile."
        Self.messages(lines).say(.stranger(address: "192.0.2.1", reason), GatewayCounts())
        #expect(
            lines.all == [
                "ferry: 192.0.2.1 was refused: It speaks TLS 1.0 and 1.1 only; use 'legacyTLS' in 'listen'."
            ]
        )
    }

    @Test func `an upstream's trouble is one line with the name of the member`() {
        let lines = Lines()
        let logger = Logger(label: "test") { _ in
            UpstreamLog(name: "upstreams.apns") { lines.append($0) }
        }
        logger.debug("connected")
        logger.warning("connection failed", metadata: ["apns.error": "It is down.", "apns.connection": "1"])
        logger.error("alone")
        #expect(
            lines.all == [
                "ferry: upstreams.apns: connection failed: It is down.", "ferry: upstreams.apns: alone",
            ]
        )
    }
}
