import FerryCore
import NIOCore
import Testing

@testable import FerryBinary

@Suite struct BinaryConnectionTests {
    private static let id = ConnectionID(7)
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    /// Returns an open connection on which notifications 0 to `count` were written.
    private static func open(_ count: Int = 0) throws -> BinaryConnection {
        var connection = BinaryConnection()
        connection.dial(Self.id, now: Self.start)
        _ = connection.opened(firstSequence: 0, now: Self.start)
        guard count > 0 else { return connection }
        var batch = PushBatch()
        for tag in 0..<UInt64(count) {
            try batch.append(
                PushNotification(json: Array(#"{"aps":{}}"#.utf8)),
                to: DeviceToken([1, 2, 3, 4]),
                tag: PushTag(tag)
            )
        }
        connection.wrote(batch.takeFirst(.max), now: Self.start)
        return connection
    }

    /// Returns the connection's reading of one error response.
    private static func hear(_ status: UInt8, _ identifier: UInt32, on connection: inout BinaryConnection) -> String {
        var bytes = ByteBuffer()
        ErrorResponse(status: BinaryStatus(rawValue: status), identifier: identifier).write(to: &bytes)
        return switch connection.received(&bytes, now: Self.start) {
        case .nothing: "nothing"
        case .answer(let probe): "answer to \(probe.sequence)"
        case .acceptance(let end): "acceptance before \(end.map { "\($0)" } ?? "none")"
        case .verdict(let sequence, let status): "verdict \(status.rawValue) of \(sequence)"
        case .nameless(let response): "nameless \(response.status.rawValue)"
        case .violation(let what, _): what
        }
    }

    @Test func `a lane without connection may dial, and while it waits only when the time has come`() {
        var connection = BinaryConnection()
        let mayAtFirst = connection.mayBeDialled(now: Self.start)
        connection.wait(until: Self.start + .seconds(1))
        let mayWaiting = connection.mayBeDialled(now: Self.start)
        let mayLater = connection.mayBeDialled(now: Self.start + .seconds(1))
        connection.dial(Self.id, now: Self.start)
        let mayDialling = connection.mayBeDialled(now: .distantFuture)
        #expect([mayAtFirst, mayWaiting, mayLater, mayDialling] == [true, false, true, false])
    }

    @Test func `a connection is opened once, and only when it was dialled`() {
        var connection = BinaryConnection()
        let unasked = connection.opened(firstSequence: 0, now: Self.start)
        connection.dial(Self.id, now: Self.start)
        let dialled = (connection.id, connection.establishedID)
        let opened = connection.opened(firstSequence: 5, now: Self.start)
        let again = connection.opened(firstSequence: 9, now: Self.start)
        let (established, next) = (connection.establishedID, connection.cache.next)
        #expect([unasked, opened, again] == [false, true, false])
        #expect(dialled == (Self.id, nil))
        #expect(established == Self.id)
        #expect(next == 5)
    }

    @Test func `a probe ends the writing, and its answer is heard under its name, or as 2 and 4 without one`() throws {
        for (status, identifier) in [(8, 4), (2, 0), (4, 0)] as [(UInt8, UInt32)] {
            var connection = try Self.open(3)
            let sequence = connection.wroteProbe(.room, now: Self.start)
            let isOpen = connection.open != nil
            let heard = Self.hear(status, identifier, on: &connection)
            #expect(sequence == 3)
            #expect(!isOpen)
            #expect(heard == "answer to 3")
        }
        var connection = try Self.open(3)
        _ = connection.wroteProbe(.room, now: Self.start)
        let heard = Self.hear(5, 0, on: &connection)
        #expect(heard == "nameless 5")
    }

    @Test func `a probe that is answered once more after the half-close confirms and ends nothing`() throws {
        var connection = try Self.open(3)
        _ = connection.wroteProbe(.end, now: Self.start)
        let finished = connection.finish(until: Self.start + .seconds(5))
        let heard = Self.hear(8, 4, on: &connection)
        let nameless = Self.hear(2, 0, on: &connection)
        let until = connection.finishingUntil
        #expect(finished == Self.id)
        #expect(heard == "acceptance before 4")
        #expect(nameless == "nameless 2")
        #expect(until == Self.start + .seconds(5))
    }

    @Test func `a response names, confirms, or means nothing that was issued`() throws {
        var connection = try Self.open(3)
        let heard = [(8, 2), (0, 2), (10, 3), (8, 0), (8, 4), (0, 9)].map { status, identifier in
            Self.hear(status, identifier, on: &connection)
        }
        #expect(
            heard == [
                "verdict 8 of 1", "acceptance before 2", "verdict 10 of 2", "nameless 8", "nameless 8",
                "acceptance before none",
            ]
        )
    }

    @Test func `the next connection need not wait after one that proved something, or that was finished`() throws {
        func wasOfUse(_ serve: (inout BinaryConnection) -> Void) throws -> Bool? {
            var connection = try Self.open(3)
            serve(&connection)
            guard case .connection(_, let wasOfUse) = connection.close() else { return nil }
            return wasOfUse
        }
        #expect(try wasOfUse { _ in } == false)
        #expect(try wasOfUse { _ = $0.presume(before: 3, now: Self.start) } == false)
        #expect(try wasOfUse { _ = $0.confirm(before: 1, now: Self.start) } == true)
        #expect(try wasOfUse { _ = $0.finish(until: Self.start) } == true)
        #expect(
            try wasOfUse {
                _ = $0.confirm(before: 1, now: Self.start)
                _ = $0.wroteProbe(.room, now: Self.start)
            } == true
        )
    }

    @Test func `what never left is told from what may have, and a sole notification from others`() throws {
        var connection = try Self.open(1)
        connection.flushed(at: 100, now: Self.start)
        let sole = connection.takeRemains(handed: 100)
        #expect(sole.isSole)
        #expect(sole.onWire == 1)

        var other = try Self.open(3)
        other.flushed(at: 300, now: Self.start)
        other.wrote(sole.mayHaveLeft[0].run, now: Self.start)
        other.flushed(at: 400, now: Self.start)
        _ = other.wroteProbe(.end, now: Self.start)
        let remains = other.takeRemains(handed: 0)
        #expect(remains.onWire == 3)
        #expect(remains.neverLeft.map(\.run.count) == [1])
        #expect(remains.isBehindLastProbe)
        #expect(!remains.isSole)
    }

    @Test func `a closed connection leaves nothing to the next one`() throws {
        var connection = try Self.open(3)
        var bytes = ByteBuffer(bytes: [8, 8, 0])
        _ = connection.received(&bytes, now: Self.start)
        let wasTruncated = connection.isTruncated
        _ = connection.close()
        connection.dial(ConnectionID(8), now: Self.start)
        _ = connection.opened(firstSequence: 0, now: Self.start)
        let isTruncated = connection.isTruncated
        let (unsettledCount, issued) = (connection.cache.unsettledCount, connection.cache.issued)
        #expect(wasTruncated)
        #expect(!isTruncated)
        #expect(unsettledCount == 0)
        #expect(issued == 0..<0)
    }
}
