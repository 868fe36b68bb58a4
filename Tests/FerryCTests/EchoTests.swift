import CFerry
import Foundation
import Testing

/// What a program in C sees, with the backend that settles at once.
@Suite struct EchoTests {
    private let echo = #"{"backend":"echo"}"#

    @Test func `each notification has one outcome, which is read once`() throws {
        let library = try Library(self.echo)
        let records = record(7) + record(8, token: [0xba, 0xd0]) + record(9, token: [0x90, 0x9e])
        #expect(library.submit(records) == (3, records.count))
        let outcomes = library.read()
        #expect(outcomes.map(\.tag) == [7, 8, 9])
        #expect(outcomes.map(\.outcome) == [1, 2, 2])
        #expect(outcomes.map(\.legacy) == [0, 8, 0])
        #expect(outcomes.map(\.status) == [0, 400, 410])
        #expect(
            outcomes.map { ferry_reason_text(UInt32($0.reason)).map { String(cString: $0) } } == [
                "", "BadDeviceToken", "Unregistered",
            ]
        )
        #expect(library.read().isEmpty)
    }

    @Test func `an outcome in words has the members of ferry push and a sentence`() throws {
        let library = try Library(self.echo)
        let tokens: [[UInt8]] = [[1, 2], [0xba, 0xd0], [0xde, 0xad], [0x00, 0xbd]]
        _ = library.submit(tokens.enumerated().flatMap { record(UInt64($0.offset), token: $0.element) })
        let words = library.read().sorted { $0.tag < $1.tag }.map { library.words(of: $0) }
        #expect(
            words == [
                #"{"outcome":"accepted","proof":"confirmed","sentence":"accepted (confirmed)"}"#,
                #"{"outcome":"rejected","reason":"BadDeviceToken","status":400,"origin":"apns","sentence":"rejected: "#
                    + "BadDeviceToken (400). The device token is invalid, or belongs to the other environment. Forget it if "
                    + "other device tokens were accepted. If none was, check whether it is for production or for "
                    + #"development."}"#,
                #"{"outcome":"undelivered","reason":"noConnection","sentence":"undelivered: noConnection. There was no "#
                    + "connection to write it to. The provider's lastError and its log name the cause. Send it again when "
                    + #"the cause is mended."}"#,
                #"{"outcome":"uncertain","reason":"positionUnknown","sentence":"uncertain: positionUnknown. The "#
                    + "connection ended, and nothing says how far the peer had read. It may have arrived: send it again "
                    + #"only if twice is better than never."}"#,
            ]
        )
    }

    @Test func `each cause has its word, with the time and the identifier of APNs where there are`() throws {
        let library = try Library(self.echo)
        func reasons(_ outcome: Int32, _ details: ClosedRange<UInt8>) -> [String] {
            details.compactMap { detail in
                var record = ferry_outcome()
                (record.outcome, record.detail) = (UInt8(outcome), detail)
                let words = library.words(of: record)
                return words?.split(separator: "\"").dropFirst(7).first.map(String.init)
            }
        }
        #expect(
            reasons(FERRY_UNDELIVERED, 1...20) == [
                "shutDown", "cancelled", "evicted", "discarded", "credentials", "noConnection", "released", "deadline",
            ]
        )
        #expect(
            reasons(FERRY_UNCERTAIN, 1...20) == [
                "shutDown", "released", "positionUnknown", "peerCloses", "notRepeated", "noAnswer", "reset",
            ]
        )
        var gone = ferry_outcome()
        (gone.outcome, gone.detail, gone.status) = (UInt8(FERRY_REJECTED), UInt8(FERRY_ORIGIN_APNS), 410)
        (gone.reason, gone.timestamp, gone.flags) = (26, 1_700_000_000_000, UInt8(FERRY_OUTCOME_APNS_ID))
        gone.apns_id.0 = 0xea
        let words = try #require(library.words(of: gone))
        #expect(
            words.hasPrefix(
                #"{"outcome":"rejected","reason":"Unregistered","status":410,"timestamp":1700000000000,"origin":"apns","#
                    + #""apnsId":"ea000000-0000-0000-0000-000000000000","sentence":"rejected: Unregistered (410). "#
            )
        )
    }

    @Test func `numbers without a meaning, and memory that is too small, have no words`() throws {
        let library = try Library(self.echo)
        var outcome = ferry_outcome()
        let size = MemoryLayout<ferry_outcome>.size
        #expect(ferry_outcome_json(library.handle, &outcome, size, nil, 0) == Int64(FERRY_EINVAL))
        outcome.outcome = UInt8(FERRY_EXPIRED)
        let length = ferry_outcome_json(library.handle, &outcome, size, nil, 0)
        #expect(length > 0)
        var text = [CChar](repeating: 7, count: 4)
        #expect(ferry_outcome_json(library.handle, &outcome, size, &text, text.count) == length)
        #expect(text == [7, 7, 7, 7])
        #expect(ferry_outcome_json(library.handle, &outcome, size - 1, nil, 0) == Int64(FERRY_EINVAL))
        #expect(ferry_outcome_json(library.handle, nil, size, nil, 0) == Int64(FERRY_EINVAL))
        #expect(ferry_outcome_json(0, &outcome, size, nil, 0) == Int64(FERRY_EHANDLE))
    }

    @Test func `outcomes are read in parts`() throws {
        let library = try Library(self.echo)
        _ = library.submit((0..<10).flatMap { record($0) })
        #expect(library.read(3).map(\.tag) == [0, 1, 2])
        #expect(library.read(100).map(\.tag) == Array(3..<10))
    }

    @Test func `outcomes that differ in their tags alone are read as runs`() throws {
        let library = try Library(self.echo)
        let bad = record(5, token: [0xba, 0xd0]) + record(6, token: [0xba, 0xd0]) + record(7, token: [0x90, 0x9e])
        _ = library.submit((0..<5).flatMap { record($0) } + bad + record(8))
        #expect(library.readRun(3).tags == [0, 1, 2])
        let rest = library.readRun()
        #expect(rest.tags == [3, 4] && rest.outcome.tag == 3 && rest.outcome.outcome == UInt8(FERRY_ACCEPTED))
        let rejected = library.readRun()
        #expect(rejected.tags == [5, 6] && rejected.outcome.status == 400 && rejected.outcome.legacy == 8)
        #expect(library.readRun().outcome.status == 410)
        #expect(library.read().map(\.tag) == [8])
        #expect(library.readRun().tags.isEmpty)
        #expect(library.ready & Int64(FERRY_READY_OUTCOMES) == 0)
        var outcome = ferry_outcome()
        var tag: UInt64 = 0
        let size = MemoryLayout<ferry_outcome>.size
        #expect(ferry_read_run(library.handle, nil, size, &tag, 1) == Int64(FERRY_EINVAL))
        #expect(ferry_read_run(library.handle, &outcome, size, nil, 1) == Int64(FERRY_EINVAL))
        #expect(ferry_read_run(library.handle, &outcome, size - 1, &tag, 1) == Int64(FERRY_EINVAL))
        #expect(ferry_read_run(library.handle, &outcome, size, &tag, 0) == 0)
    }

    @Test func `a caller with a larger structure gets zeros behind the known part`() throws {
        let library = try Library(self.echo)
        _ = library.submit(record(5) + record(6))
        var bytes = [UInt8](repeating: 0xff, count: 2 * 48)
        #expect(ferry_read(library.handle, &bytes, 48, 2) == 2)
        #expect(bytes[0] == 5 && bytes[48] == 6)
        #expect(bytes[40..<48].allSatisfy { $0 == 0 })
    }

    @Test func `a notification that no server would accept is taken and rejected by Ferry`() throws {
        let library = try Library(self.echo)
        let bad: [(record: [UInt8], reason: String)] = [
            (record(0, token: []), "MissingDeviceToken"),
            (record(1, token: Array(repeating: 1, count: 101)), "InvalidTokenSize"),
            (record(2, payload: ""), "PayloadEmpty"),
            (record(3, payload: "[]"), "BadRequestPayload"),
            (record(4, payload: "{\"a\":\"" + String(repeating: "x", count: 6000) + "\"}"), "PayloadTooLarge"),
            (record(5, topic: "a b"), "BadTopic"),
            (record(6, collapseID: String(repeating: "x", count: 65)), "BadCollapseId"),
            (record(7, priority: 3), "BadPriority"),
            (record(8, pushType: 200), "InvalidPushType"),
        ]
        let records = record(100) + bad.flatMap(\.record) + record(101)
        #expect(library.submit(records) == (Int64(bad.count) + 2, records.count))
        let outcomes = library.read().sorted { $0.tag < $1.tag }
        #expect(outcomes.map(\.tag) == Array(0..<9) + [100, 101])
        #expect(outcomes.map(\.legacy) == [2, 5, 4, 7, 7, 0, 0, 0, 0, 0, 0])
        for (outcome, expected) in zip(outcomes, bad) {
            #expect(outcome.outcome == UInt8(FERRY_REJECTED) && outcome.detail == UInt8(FERRY_ORIGIN_FERRY))
            #expect(ferry_reason_text(UInt32(outcome.reason)).map { String(cString: $0) } == expected.reason)
        }
    }

    @Test func `wrong framing anywhere takes nothing`() throws {
        let library = try Library(self.echo)
        let good = record(1)
        var short = record(2)
        short.removeLast()
        var long = record(2)
        long[0] &+= 1
        var flagged = record(2)
        flagged[16] = 0x80
        for wrong in [short, long, flagged, [0], Array(repeating: 0, count: 24)] {
            #expect(library.submit(good + wrong) == (Int64(FERRY_EINVAL), 0))
        }
        #expect(library.numbers.taken == 0)
    }

    @Test func `unread outcomes leave no room, and reading makes it`() throws {
        let library = try Library(#"{"backend":"echo","queueLimit":2}"#)
        #expect(library.submit(record(1) + record(2)).count == 2)
        #expect(library.submit(record(3)) == (0, 0))
        #expect(library.ready & Int64(FERRY_READY_ROOM) == 0)
        #expect(library.read(1).map(\.tag) == [1])
        #expect(library.ready & Int64(FERRY_READY_ROOM) != 0)
        #expect(library.submit(record(3)).count == 1)
        #expect(library.read().map(\.tag) == [2, 3])
        #expect(library.numbers.taken == 3)
    }

    @Test func `the descriptor is readable exactly while something is ready`() throws {
        let library = try Library(self.echo)
        #expect(library.ready == 0 && !library.isReadable)
        _ = library.submit(record(1))
        #expect(library.ready == Int64(FERRY_READY_OUTCOMES | FERRY_READY_SETTLED) && library.isReadable)
        _ = library.read()
        #expect(library.ready == Int64(FERRY_READY_SETTLED) && library.isReadable)
        _ = library.numbers
        #expect(library.isReadable)
        #expect(library.read().isEmpty)
        #expect(library.ready == 0 && !library.isReadable)
    }

    @Test func `a submission that finds no room ends the news that everything is settled`() throws {
        let library = try Library(#"{"backend":"echo","queueLimit":1}"#)
        _ = library.submit(record(1))
        #expect(library.ready & Int64(FERRY_READY_SETTLED) != 0)
        #expect(library.submit(record(2)) == (0, 0))
        #expect(library.ready == Int64(FERRY_READY_OUTCOMES))
    }

    @Test func `reading does not take the news that everything is settled from a caller that has not heard it`() throws
    {
        let library = try Library(self.echo)
        _ = library.submit(record(1))
        #expect(library.read().count == 1)
        #expect(library.read().isEmpty)
        #expect(library.ready == Int64(FERRY_READY_SETTLED))
        #expect(library.read().isEmpty)
        #expect(library.ready == 0)
    }

    @Test func `only failures are kept on demand, and the counts have all`() throws {
        let library = try Library(#"{"backend":"echo","outcomes":"failures"}"#)
        _ = library.submit(record(1) + record(2, token: [0xba, 0xd0]))
        #expect(library.read().map(\.tag) == [2])
        #expect(library.numbers.confirmed == 1 && library.numbers.rejected == 1)
    }

    @Test func `one record goes to many devices`() throws {
        let library = try Library(self.echo)
        let one = record(0, token: [9, 9])
        let tokens: [UInt8] = [1, 1, 0xba, 0xd0, 3, 3]
        #expect(ferry_submit_to(library.handle, one, one.count, tokens, 2, 3, 50) == 3)
        let outcomes = library.read()
        #expect(outcomes.map(\.tag) == [50, 51, 52])
        #expect(outcomes.map(\.outcome) == [1, 2, 1])
        #expect(ferry_submit_to(library.handle, one, one.count, tokens, 3, 2, 0) == Int64(FERRY_EINVAL))
        let none = record(0, token: [])
        #expect(ferry_submit_to(library.handle, none, none.count, tokens, 0, 3, 0) == Int64(FERRY_EINVAL))
    }

    @Test func `after close nothing is taken, and outcomes stay readable`() throws {
        let library = try Library(self.echo)
        _ = library.submit(record(1))
        #expect(ferry_close(library.handle, 1000) == 0)
        #expect(library.submit(record(2)).count == Int64(FERRY_ECLOSED))
        #expect(library.read().map(\.tag) == [1])
        #expect(library.ready == 0)
        #expect(ferry_close(library.handle, 0) == 0)
    }

    @Test func `a handle that was freed is dead for ever, and its number does not come back`() throws {
        let opened = ferry_open(self.echo, self.echo.utf8.count, nil, 0)
        let handle = ferry_t(opened)
        #expect(ferry_free(handle) == 0)
        let next = ferry_open(self.echo, self.echo.utf8.count, nil, 0)
        #expect(next > 0 && next != opened)
        #expect(ferry_free(handle) == Int64(FERRY_EHANDLE))
        #expect(ferry_wait(handle, 1000) == Int64(FERRY_EHANDLE))
        #expect(ferry_free(ferry_t(next)) == 0)
    }

    @Test func `a waiting caller is released when another thread frees or closes the handle`() async throws {
        for isFreed in [true, false] {
            let handle = ferry_t(ferry_open(self.echo, self.echo.utf8.count, nil, 0))
            async let waited = Task.detached { ferry_wait(handle, -1) }.value
            try await Task.sleep(for: .milliseconds(1))
            _ = isFreed ? ferry_free(handle) : ferry_close(handle, 0)
            let ready = await waited
            #expect(ready == Int64(isFreed ? FERRY_EHANDLE : FERRY_READY_SETTLED))
            if !isFreed { ferry_free(handle) }
        }
    }

    @Test func `no argument traps`() throws {
        let library = try Library(self.echo)
        for handle in [0, 1, .max, library.handle &+ 1, library.handle] as [ferry_t] {
            _ = ferry_submit(handle, nil, 5, nil)
            _ = ferry_submit(handle, nil, 0, nil)
            _ = ferry_submit(handle, nil, -1, nil)
            _ = ferry_submit_to(handle, nil, 0, nil, .max, .max, .max)
            _ = ferry_submit_to(handle, nil, -1, nil, -1, -1, 0)
            _ = ferry_read(handle, nil, 40, 10)
            _ = ferry_read(handle, nil, 39, -1)
            _ = ferry_read(handle, nil, .max, .max)
            var byte: UInt8 = 0
            _ = ferry_read(handle, &byte, .max, 1)
            _ = ferry_counts(handle, &byte, .max)
            _ = ferry_read_event(handle, nil, -1)
            _ = ferry_read_event(handle, nil, 10)
            _ = ferry_drain(handle, .min)
            _ = ferry_drain(handle, 0)
            _ = ferry_counts(handle, nil, 88)
            _ = ferry_set(handle, nil, 0, nil, 5)
            _ = ferry_report(handle, nil, .max)
            _ = ferry_report(handle, nil, -1)
        }
        _ = ferry_open(nil, 0, nil, 0)
        _ = ferry_open(nil, 7, nil, 7)
        _ = ferry_error_text(.min)
        _ = ferry_reason_text(.max)
    }
}
