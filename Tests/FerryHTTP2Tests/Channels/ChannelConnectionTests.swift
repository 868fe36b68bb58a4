import FerryCore
import FerryHTTP2
import NIOCore
import Testing

/// What the connection of channels has from that of notifications.
@Suite struct ChannelConnectionTests {
    private static func answered() throws -> ChannelRehearsal {
        let apns = ChannelRehearsal()
        apns.submit(.list)
        try apns.exchange()
        try apns.answer(status: 200, body: #"{"channels":[]}"#)
        return apns
    }

    @Test func `A peer that takes no more bytes is closed after 5 s`() throws {
        let apns = try Self.answered()
        apns.shutDown()
        apns.passBlocked(.seconds(4))
        #expect(apns.closed.isEmpty)
        apns.passBlocked(.seconds(1))
        #expect(apns.closed == [ConnectionID(1)])
        #expect(apns.isFinished)
    }

    @Test func `After the computer has slept, a call waits for the answer to a PING`() throws {
        let apns = try Self.answered()
        apns.sleep(.seconds(30))
        apns.submit(.create(.noMessageStored))
        apns.writeInVain()
        #expect(apns.requests.count == 1)
        // The PING was lost: the path has forgotten the connection.
        apns.passBlocked(.seconds(1))
        #expect(apns.dials == 2)
        try apns.exchange()
        #expect(apns.requests.map(\.connection) == [1, 2])
        try apns.answer(status: 201, [("apns-channel-id", "dHN0LXNyY2gtY2hubA==")])
        #expect(try apns.success() == .created(ChannelRehearsal.channel))
    }

    @Test func `A peer that answers the PING gets the call`() throws {
        let apns = try Self.answered()
        apns.sleep(.seconds(30))
        apns.submit(.list)
        try apns.exchange()
        #expect(apns.requests.map(\.connection) == [1, 1])
        #expect(apns.dials == 1)
    }

    @Test func `Five server errors in a row end a connection, and another answer between them does not`() throws {
        let apns = ChannelRehearsal()
        for status in [500, 500, 500, 500, 404, 500, 500, 500, 500, 500] {
            #expect(apns.finished.isEmpty)
            apns.submit(.list)
            try apns.exchange()
            try apns.answer(status: status)
            #expect(try apns.failure().status == status)
        }
        #expect(apns.finished == [ConnectionID(1)])
        apns.submit(.list)
        try apns.exchange()
        #expect(apns.requests.last?.connection == 2)
    }
}
