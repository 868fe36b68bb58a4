import FerryAdmin
import FerryBinary
import FerryCore
import FerryTerminal
import Logging
import NIOCore
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

    private static func messages(
        _ lines: Lines,
        isStored: Bool = false,
        isLegacy: Bool = false
    ) -> GatewayMessages {
        GatewayMessages(
            clients: ["shop", "news"],
            firstTopics: [.init(upstream: 0, name: "com.example.shop"), .init(upstream: 0, name: "com.example.news")],
            upstreams: ["apns"],
            list: "list",
            isStored: isStored,
            isLegacy: isLegacy,
            write: { lines.append($0.text) }
        )
    }

    @Test func `the end says how many expired, and how many may have arrived`() {
        let lines = Lines()
        var counts = FateCounts()
        (counts.read, counts.accepted) = (9, 9)
        Self.messages(lines).sayEnd(counts, kept: 0)
        (counts.accepted, counts.expired, counts.unknown, counts.copies) = (4, 3, 2, 1)
        Self.messages(lines).sayEnd(counts, kept: 0)
        #expect(
            lines.all == [
                "ferry: read 9, of which 0 were copies; 9 accepted, 0 rejected, 0 gone; 0 error responses",
                "ferry: read 9, of which 0 were copies; 4 accepted, 0 rejected, 0 gone, 3 expired, "
                    + "2 without an answer, which may have arrived, 1 sent once more, which may have arrived twice; "
                    + "0 error responses",
            ]
        )
    }

    @Test func `a start with a copy says of when it is, and how many go out again`() {
        let lines = Lines()
        var counts = FateCounts()
        counts.recovered = 120
        Self.messages(lines, isStored: true).sayStart(counts)
        Self.messages(lines, isStored: true).sayStart(counts, copiedAt: 1_700_000_000)
        Self.messages(lines, isStored: true).sayStart(FateCounts())
        Self.messages(lines, isStored: true).sayStart(FateCounts(), copiedAt: 1_700_000_000)
        #expect(
            lines.all == [
                "ferry: 120 without an answer from before go out again",
                "ferry: the store is a copy of 2023-11-14T22:13:20Z: 120 that had no answer then go out again, and those that "
                    + "were answered since arrive twice",
                "ferry: the store is a copy of 2023-11-14T22:13:20Z: all notifications had their answers then, and none goes "
                    + "out again",
            ]
        )
    }

    @Test func `the first notification of a client that may have arrived is said, and whether it goes out again`() {
        let lines = Lines()
        let messages = Self.messages(lines)
        for identity in [0, 0, 1] {
            let item = GatewayEvent.Item(
                identity: identity,
                token: [1],
                topic: "com.example.shop",
                apnsID: APNSID(node: 1, number: 1)
            )
            messages.say(.uncertain(item, again: identity == 0), FateCounts())
        }
        #expect(
            lines.all == [
                "ferry: a notification of shop is uncertain: APNs did not answer, or the connection was lost first. The "
                    + "notification may have arrived. It goes out once more, and may arrive twice.",
                "ferry: a notification of news is uncertain: APNs did not answer, or the connection was lost first. The "
                    + "notification may have arrived. It does not go out again, and may be missing.",
            ]
        )
    }

    @Test func `an alarm says how many have no answer, and which clients are refused`() {
        let lines = Lines()
        var counts = FateCounts()
        counts.waiting = 120
        Self.messages(lines).say(.alarm(upstream: 0, topic: "com.example.shop", nil), counts)
        #expect(
            lines.all == [
                "ferry: alarm: apns cannot be used with its credentials, so com.example.shop is not delivered. Notifications "
                    + "wait (120 have no answer), and one a second tries. New connections of shop are refused while its own wait."
            ]
        )
    }

    @Test func `an upstream that takes nothing is said, and when it takes again`() {
        let lines = Lines()
        let messages = Self.messages(lines)
        var counts = FateCounts()
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
        var counts = FateCounts()
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
        Self.messages(lines).say(.stranger(address: "192.0.2.1", reason), FateCounts())
        #expect(
            lines.all == [
                "ferry: 192.0.2.1 was refused: It speaks TLS 1.0 and 1.1 only; use 'legacyTLS' in 'listen'."
            ]
        )
    }

    @Test(
        arguments: [
            (
                "The peer speaks no TLS version that this side is configured for; allow one that the peer speaks, or with TLS "
                    + "1.0 and 1.1 use the legacy profile.",
                "The peer speaks no TLS version that this side is configured for; it must allow TLS 1.2, 1.1 or 1.0: "
                    + "'legacyTLS' is on already."
            ),
            (
                "The two sides have no cipher suite in common; the peer must allow a usual one of TLS 1.2, or this side must "
                    + "use the legacy profile.",
                "The two sides have no cipher suite in common; the peer must allow one with RSA or ECDHE: 'legacyTLS' is on "
                    + "already."
            ),
            (
                "The two sides have no signature algorithm in common; the peer must allow SHA-256, or this side must use the "
                    + "legacy profile.",
                "The two sides have no signature algorithm in common; the peer must allow SHA-256."
            ),
        ]
    )
    func `a client that no profile serves is not told to use legacyTLS when that is on`(reason: String, words: String) {
        let lines = Lines()
        Self.messages(lines, isLegacy: true).say(.stranger(address: "192.0.2.1", reason), FateCounts())
        #expect(lines.all == ["ferry: 192.0.2.1 was refused: \(words)"])
    }

    @Test func `a reason of APNs breaks no line, and is cut`() {
        let lines = Lines()
        let reason = Reason(rawValue: "Bad\nferry: forged\u{1b}" + String(repeating: "a", count: 500))
        let refusal = GatewayEvent.Refusal(identity: 0, token: [1], reason: reason, status: nil, apnsID: nil)
        Self.messages(lines).say(.deadLetter(refusal), FateCounts())
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("\n") == false && lines.all.first?.contains("\u{1b}") == false)
        #expect((lines.all.first?.count ?? 0) < 200)
    }

    @Test func `a dead letter is lost without a store, and with one it is a letter`() {
        let lines = Lines()
        for (isStored, count) in [(false, 2), (true, 2), (true, 1)] {
            let messages = Self.messages(lines, isStored: isStored)
            for _ in 0..<count {
                let refusal = GatewayEvent.Refusal(
                    identity: 0,
                    token: [1],
                    reason: .badCollapseID,
                    status: nil,
                    apnsID: nil
                )
                messages.say(.deadLetter(refusal), FateCounts())
            }
            messages.sayEnd(FateCounts(), kept: 0)
        }
        let said = lines.all.filter { $0.contains("BadCollapseId") }.map { $0.prefix { $0 != "." } }
        #expect(
            said == [
                "ferry: a notification of shop is lost: BadCollapseId",
                "ferry: 2 of shop lost, each in list: BadCollapseId",
                "ferry: a notification of shop is given up: BadCollapseId",
                "ferry: 2 of shop given up, each in list: BadCollapseId",
                "ferry: a notification of shop is given up: BadCollapseId",
                "ferry: 1 of shop given up, each in list: BadCollapseId",
            ]
        )
    }

    @Test func `a list that cannot be written is an alarm, which says where its lines wait, and when it is over`() {
        let lines = Lines()
        var counts = FateCounts()
        counts.unwritten = 3
        for isStored in [false, true] {
            let messages = Self.messages(lines, isStored: isStored)
            messages.say(.listTrouble("No space left on device"), counts)
            messages.say(.listAllClear, counts)
        }
        Self.messages(lines).say(.listFull(limit: 250_000), counts)
        let trouble =
            "ferry: alarm: The list of rejections list cannot be written: No space left on device. Its lines wait in"
        let end = "ferry: the alarm for the list of rejections is over"
        #expect(
            lines.all == [
                "\(trouble) memory (3 so far).", end, "\(trouble) the store (3 so far).", end,
                "ferry: alarm: 250000 lines wait for the list of rejections. The oldest are lost.",
            ]
        )
    }

    @Test func `the end says how many lines the list does not have`() {
        let lines = Lines()
        var counts = FateCounts()
        (counts.unwritten, counts.unlisted) = (4, 2)
        Self.messages(lines).sayEnd(counts, kept: 0)
        Self.messages(lines, isStored: true).sayEnd(counts, kept: 0)
        #expect(lines.all.count { $0 == "ferry: 2 lines of the list of rejections are lost" } == 2)
        #expect(
            lines.all.count {
                $0 == "ferry: 4 lines of the list of rejections wait in the store for the next start"
            } == 1
        )
    }

    @Test func `a client that sends what is no notification is named once`() {
        let lines = Lines()
        let messages = Self.messages(lines)
        for command: UInt8 in [71, 72] {
            messages.say(.violation(identity: 1, .unknownCommand(command)), FateCounts())
        }
        #expect(lines.all.count == 1)
        #expect(lines.all[0].contains("news sent what is no notification: a frame that begins with 71 in place of "))
    }

    @Test func `a client whose lengths count characters is named once`() {
        let lines = Lines()
        let messages = Self.messages(lines)
        for _ in 0..<2 {
            messages.say(
                .refused(
                    .init(identity: 1, token: [1], reason: .payloadLengthInCharacters, status: nil, apnsID: nil)
                ),
                FateCounts()
            )
        }
        #expect(
            lines.all == [
                "ferry: news gives the length of a payload in characters, and not in bytes. A payload with letters beyond ASCII "
                    + "is refused, and its connection ends: count the bytes of its UTF-8."
            ]
        )
    }

    @Test func `an upstream's trouble is one line with the name of the member`() {
        let lines = Lines()
        let logger = Logger(label: "test") { _ in
            UpstreamLog(upstream: "apns") { lines.append($0.text) }
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

    @Test func `the status keeps the last failure of the common connections, and no other message`() {
        let (lines, watch) = (Lines(), UpstreamWatch())
        let common = UpstreamLog.logger("apns", watch) { lines.append($0.text) }
        let side = Logger(label: "test") { _ in
            UpstreamLog(upstream: "apns", isSide: true) { lines.append($0.text) }
        }
        common.warning("connection failed", metadata: ["apns.error": "It is down."])
        common.warning("outcomes contradicted", metadata: ["apns.count": "3"])
        side.warning("connection failed", metadata: ["apns.error": "The connection of one client."])
        #expect(watch.figures.lastError?.sentence == "It is down.")
        #expect(lines.all.count == 3)
    }

    @Test func `a line of the last minute is not written again, and a hundred others are enough`() {
        let recent = RecentLines()
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        #expect(recent.add("a", now: start))
        #expect(!recent.add("a", now: start + .seconds(59)))
        #expect(recent.add("b", now: start + .seconds(59)))
        #expect(recent.add("a", now: start + .seconds(60)))
        let count = (0..<200).count { recent.add("\($0)", now: start + .seconds(61)) }
        #expect(count == 98)
        #expect(recent.add("c", now: start + .minutes(5)))
    }
}
