import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// What must be on disk before which byte, and what a new process makes of it.
@Suite struct GatewayStoreMachineTests {
    private static let bad = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))
    private static let gone = Outcome.rejected(Rejection(reason: .unregistered, origin: .apns, status: 410))

    private func warm(_ scene: GatewayStoreScene, on connection: ConnectionID) {
        scene.push([0xff], 0, on: connection)
        scene.answer([0xff])
    }

    // MARK: Before which byte

    @Test func `a notification goes out when the store has it, and not before`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.store.hold()
        scene.push([1], 1, on: connection)
        #expect(scene.sentTokens.isEmpty)
        scene.store.release()
        scene.collect()
        #expect(scene.sentTokens == [[1]])
    }

    @Test func `an error response is written when the store has its episode`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        self.warm(scene, on: connection)
        scene.push([1], 1, on: connection)
        scene.push([2], 2, on: connection)
        scene.answer([2])
        scene.store.hold()
        scene.answer([1], Self.bad)
        scene.wait(.milliseconds(400))
        #expect(scene.told.isEmpty)
        scene.store.release()
        scene.collect()
        #expect(scene.told.map(\.identifier) == [1])
    }

    @Test func `a store that takes more than a second defers the error response`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        self.warm(scene, on: connection)
        scene.push([1], 1, on: connection)
        scene.store.hold()
        scene.answer([1], Self.bad)
        scene.wait(.seconds(3))
        scene.store.release()
        scene.collect()
        scene.wait(.seconds(3))
        #expect(scene.told.isEmpty)
        #expect(scene.machine.counts.deferred == 1)
        // The next push to the token tells it.
        scene.push([1], 2, on: connection)
        scene.wait(.seconds(1))
        #expect(scene.told.map(\.identifier) == [2])
    }

    @Test func `the row of a lost device is in the store before its notification counts as accepted`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.store.hold()
        scene.answer([1], Self.gone)
        #expect(!scene.machine.isIdle)
        scene.store.release()
        scene.collect()
        scene.wait(.seconds(1))
        #expect(scene.store.all(.feedback).count == 1)
        #expect(scene.machine.isIdle)
    }

    // MARK: After a kill

    @Test func `a notification without an answer is sent again with the same apns-id`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.push([2], 2, on: connection)
        let first = scene.sent.first { $0.device.bytes == [2] }?.notification.apnsID
        scene.answer([1])
        scene.wait(.milliseconds(20))
        try scene.kill()
        #expect(scene.sentTokens == [[2]])
        #expect(first != nil)
        #expect(scene.sent.first?.notification.apnsID == first)
        #expect(scene.machine.counts.recovered == 1)
        scene.answer([2])
        #expect(scene.machine.counts.isConserved)
        scene.wait(.seconds(1))
        try scene.kill()
        #expect(scene.sentTokens.isEmpty)
    }

    @Test func `a refusal after kills is listed with a status only if the notification has an identifier`() throws {
        let scene = try GatewayStoreScene(upstreamKey: [1])
        scene.warm()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.pushUnnamed([2], on: connection)
        for _ in 0..<2 {
            scene.wait(.seconds(1))
            try scene.kill()
            #expect(Set(scene.sentTokens) == [[1], [2]])
        }
        scene.answer([1], Self.bad)
        scene.answer([2], Self.bad)
        let statuses = scene.events.compactMap { event in
            if case .refused(let refusal) = event { [refusal.token?.first: refusal.status] } else { nil }
        }
        #expect(statuses == [[1: .invalidToken], [2: nil]])
        #expect(scene.machine.counts.isConserved && scene.machine.counts.unanswered == 0)
    }

    @Test func `a notification that the store never had is not sent`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.store.hold()
        scene.push([1], 1, on: connection)
        try scene.kill()
        scene.store.release()
        #expect(scene.sentTokens.isEmpty)
    }

    @Test func `a copy after an error response before the kill arrives once`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        self.warm(scene, on: connection)
        for number in UInt8(1)...5 { scene.push([number], UInt32(number), on: connection) }
        for number in UInt8(2)...4 { scene.answer([number]) }
        scene.answer([1], Self.bad)
        scene.wait(.seconds(1))
        #expect(scene.told.map(\.identifier) == [1])
        try scene.kill()
        #expect(scene.sentTokens == [[5]])
        let next = scene.connect()
        for number in UInt8(2)...6 { scene.push([number], UInt32(number), on: next) }
        #expect(scene.sentTokens == [[5], [6]])
        #expect(scene.machine.counts.swallowed == 4)
    }

    @Test func `a copy that came on the told connection before the kill is new when it comes once more`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        self.warm(scene, on: connection)
        for number in UInt8(1)...5 { scene.push([number], UInt32(number), on: connection) }
        for number in UInt8(2)...5 { scene.answer([number]) }
        scene.answer([1], Self.bad)
        while scene.told.isEmpty { scene.wait(.milliseconds(10)) }
        for number in UInt8(2)...4 { scene.push([number], UInt32(number), on: connection) }
        #expect(scene.machine.counts.swallowed == 3)
        scene.hangUp(connection)
        scene.wait(.seconds(1))
        try scene.kill()
        let next = scene.connect()
        for number in UInt8(2)...4 { scene.push([number], 10 + UInt32(number), on: next) }
        #expect(scene.sentTokens == [[2], [3], [4]])
    }

    @Test func `a copy that came before the kill is new when it comes once more`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        self.warm(scene, on: connection)
        for number in UInt8(1)...3 { scene.push([number], UInt32(number), on: connection) }
        scene.answer([2])
        scene.answer([3])
        scene.answer([1], Self.bad)
        scene.wait(.seconds(1))
        scene.hangUp(connection)
        let second = scene.connect()
        scene.push([2], 2, on: second)
        scene.hangUp(second)
        #expect(scene.machine.counts.swallowed == 1)
        scene.wait(.seconds(1))
        try scene.kill()
        let third = scene.connect()
        scene.push([2], 2, on: third)
        scene.push([3], 3, on: third)
        #expect(scene.sentTokens == [[2]])
    }

    @Test func `a client whose connection the kill ended may send its last notifications again`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        for number in UInt8(1)...3 { scene.push([number], UInt32(number), on: connection) }
        for number in UInt8(1)...3 { scene.answer([number]) }
        scene.wait(.seconds(1))
        try scene.kill()
        let next = scene.connect()
        for number in UInt8(2)...4 { scene.push([number], UInt32(number), on: next) }
        #expect(scene.sentTokens == [[4]])
    }

    @Test func `a connection that had ended before the kill leaves no copies to expect`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.answer([1])
        scene.hangUp(connection)
        scene.wait(.seconds(1))
        try scene.kill()
        scene.push([1], 1, on: scene.connect())
        #expect(scene.sentTokens == [[1]])
    }

    @Test func `a rejection that no error response has named is told at the next push to the token`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        self.warm(scene, on: connection)
        scene.push([1], 1, on: connection)
        scene.answer([1], Self.bad)
        scene.wait(.milliseconds(20))
        scene.hangUp(connection)
        scene.wait(.seconds(70))
        try scene.kill()
        let next = scene.connect()
        scene.push([0xfe], 1, on: next)
        scene.answer([0xfe])
        scene.push([1], 2, on: next)
        scene.wait(.seconds(1))
        #expect(scene.told.map(\.identifier) == [2])
        #expect(scene.sentTokens.isEmpty)
    }

    @Test func `the feedback list survives, but rows that were read do not`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        for number in UInt8(1)...2 { scene.push([number], UInt32(number), on: connection) }
        for number in UInt8(1)...2 { scene.answer([number], Self.gone) }
        scene.wait(.seconds(1))
        try scene.kill()
        var claim: FeedbackRows.Claim?
        scene.machine.withFeedback(now: scene.now) { claim = $0.claim(0, now: scene.now.monotonic) }
        #expect(Set(claim?.rows.map(\.token) ?? []) == [[1], [2]])
        scene.collect()
        // A reader that was cut off by the kill has read nothing.
        try scene.kill()
        scene.machine.withFeedback(now: scene.now) { claim = $0.claim(0, now: scene.now.monotonic) }
        #expect(claim?.rows.count == 2)
        if let claim { scene.machine.withFeedback(now: scene.now) { $0.read(claim) } }
        scene.collect()
        scene.wait(.seconds(1))
        try scene.kill()
        scene.machine.withFeedback(now: scene.now) { claim = $0.claim(0, now: scene.now.monotonic) }
        #expect(claim?.rows.isEmpty == true)
    }

    @Test func `a rejection whose error response was given up is told after the kill`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        self.warm(scene, on: connection)
        scene.push([1], 1, on: connection)
        scene.store.hold()
        scene.answer([1], Self.bad)
        scene.wait(.milliseconds(400))
        // The store has the episode now, and the client is not calm any more.
        for number in UInt32(2)...40 {
            if number == 3 { scene.store.release() }
            scene.push([2, UInt8(number)], number, on: connection)
            scene.wait(.milliseconds(100))
        }
        #expect(scene.told.isEmpty)
        #expect(scene.machine.counts.deferred == 1)
        scene.hangUp(connection)
        scene.wait(.milliseconds(20))
        try scene.kill()
        scene.acceptAll()
        let next = scene.connect()
        scene.push([0xfd], 8, on: next)
        scene.answer([0xfd])
        scene.push([1], 9, on: next)
        scene.wait(.seconds(1))
        #expect(scene.told.map(\.identifier) == [9])
    }

    @Test func `nothing is taken for a copy long after the kill`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        for number in UInt8(1)...3 { scene.push([number], UInt32(number), on: connection) }
        for number in UInt8(1)...3 { scene.answer([number]) }
        scene.wait(.minutes(5))
        try scene.kill()
        scene.push([2], 2, on: scene.connect())
        #expect(scene.sentTokens == [[2]])
    }

    @Test func `a copy that comes before the feedback row is in the store counts as accepted`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        self.warm(scene, on: connection)
        for number in UInt8(1)...2 { scene.push([number], UInt32(number), on: connection) }
        scene.answer([1], Self.bad)
        scene.wait(.milliseconds(600))
        #expect(scene.told.map(\.identifier) == [1])
        scene.store.hold()
        scene.answer([2], Self.gone)
        let next = scene.connect()
        scene.push([2], 2, on: next)
        scene.store.release()
        scene.collect()
        scene.wait(.seconds(5))
        #expect(scene.machine.counts.swallowed == 1)
        #expect(scene.machine.counts.released == 0)
    }

    @Test func `the store keeps the followers of an error for as long as their copies may come`() throws {
        let scene = try GatewayStoreScene()
        let first = scene.connect()
        scene.push([0xff], 0, on: first)
        scene.answer([0xff])
        for number in UInt8(1)...8 { scene.push([number], UInt32(number), on: first) }
        scene.answer([1], Self.bad)
        for number in UInt8(2)...8 { scene.answer([number]) }
        scene.wait(.seconds(1))
        #expect(scene.told.count == 1)
        scene.hangUp(first)
        // A segment without an open episode would be gone after a minute.
        let other = scene.connect()
        for number in UInt8(100)..<150 {
            scene.push([number], UInt32(number), on: other)
            scene.answer([number])
            scene.wait(.seconds(1))
        }
        try scene.kill()
        let second = scene.connect()
        for number in UInt8(2)...8 { scene.push([number], UInt32(number), on: second) }
        scene.wait(.seconds(1))
        #expect(scene.sentTokens.isEmpty)
        #expect(scene.machine.counts.swallowed == 7)
    }

    @Test func `a second kill finds the same`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        try scene.kill()
        try scene.kill()
        #expect(scene.sentTokens == [[1]])
        scene.push([2], 2, on: scene.connect())
        try scene.kill()
        #expect(Set(scene.sentTokens) == [[1], [2]])
    }

    // MARK: A store in trouble

    @Test func `a store that refuses delays notifications and loses none`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.store.fail("The disk is full.")
        scene.push([1], 1, on: connection)
        scene.wait(.seconds(4))
        #expect(scene.sentTokens.isEmpty)
        #expect(scene.events == [.storeTrouble("The disk is full.")])
        #expect(!scene.machine.isOpen(identity: 0, now: scene.now))
        #expect(scene.machine.counts.released == 0)
        scene.store.fail(nil)
        scene.wait(.seconds(2))
        #expect(scene.sentTokens == [[1]])
        #expect(scene.events.last == .storeAllClear)
        #expect(scene.machine.isOpen(identity: 0, now: scene.now))
    }

    @Test func `a store that is silent for ten seconds delays notifications and loses none`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.store.hold()
        scene.push([1], 1, on: connection)
        scene.wait(.seconds(10))
        #expect(scene.events == [.storeTrouble("The store has not answered for a second.")])
        scene.push([2], 2, on: connection)
        #expect(scene.machine.counts.released == 0)
        scene.store.release()
        scene.collect()
        #expect(scene.sentTokens == [[1], [2]])
        #expect(scene.events.last == .storeAllClear)
    }

    @Test func `a client that writes on while the store refuses is told where to begin again`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        self.warm(scene, on: connection)
        scene.push([1], 1, on: connection)
        scene.answer([1])
        scene.store.fail("The disk is full.")
        for number in UInt32(2)...1500 {
            scene.push([2, UInt8(number / 256), UInt8(number % 256)], number, on: connection)
        }
        scene.wait(.seconds(50))
        // The store may come back. Nobody is sent away, and everything is read.
        #expect(scene.told.isEmpty)
        scene.push([3], 1501, on: connection)
        scene.wait(.seconds(20))
        #expect(scene.told == [ErrorResponse(status: .shutdown, identifier: 1)])
        #expect(scene.sentTokens.isEmpty)
        scene.store.fail(nil)
        scene.wait(.seconds(2))
        // What was read goes out, and its copies are swallowed.
        var tokens = scene.acceptAll()
        #expect(tokens.count == 1500)
        let next = scene.connect()
        for number in UInt32(2)...1500 { scene.push([2, UInt8(number / 256), UInt8(number % 256)], number, on: next) }
        tokens += scene.acceptAll()
        #expect(tokens.count == 1500)
        #expect(Set(tokens).count == 1500)
    }

    @Test func `a shutdown gives up what the store does not have, and leaves the rest there`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.machine.abandon()
        #expect(scene.machine.giveUpUnanswered())
        // The upstream is shut down, and does not know whether it arrived.
        let records = scene.sent.map { OutcomeRecord(tag: $0.tag, outcome: .uncertain(.shutDown)) }
        scene.machine.settled(records, now: scene.now)
        scene.collect()
        scene.store.fail("The disk is full.")
        scene.push([2], 2, on: connection)
        scene.machine.abandon()
        #expect(!scene.machine.giveUpUnanswered())
        scene.collect()
        let lost = scene.events.compactMap { if case .deadLetter(let refusal) = $0 { refusal.token } else { nil } }
        #expect(lost == [[2]])
        scene.store.fail(nil)
        try scene.kill()
        #expect(scene.sentTokens == [[1]])
    }

    @Test func `a gateway that has lost its store delivers nothing more`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        _ = scene.store.take()
        scene.push([1], 1, on: connection)
        scene.wait(.seconds(5))
        #expect(scene.sentTokens.isEmpty)
        #expect(scene.events.contains(.storeTaken))
        #expect(!scene.machine.isOpen(identity: 0, now: scene.now))
    }

    @Test func `a gateway that has lost its store leaves it what waits there, and lists the rest`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        for name: UInt8 in 1...20 { scene.push([name], UInt32(name), on: connection) }
        let out = scene.sentTokens
        #expect(out.count < 20)
        _ = scene.store.take()
        scene.push([21], 21, on: connection)
        let lost = scene.events.compactMap { if case .deadLetter(let refusal) = $0 { refusal.token } else { nil } }
        #expect(lost == [[21]])
        // The other process sends the rest.
        #expect(scene.acceptAll() == out)
        scene.wait(.minutes(1))
        #expect(scene.acceptAll().isEmpty)
        #expect(scene.machine.jobCount == 20 - out.count)
        scene.machine.abandon()
        #expect(!scene.machine.giveUpUnanswered())
    }

    @Test func `a gateway that has lost its store reads nothing more, and takes no connection`() throws {
        let scene = try GatewayStoreScene()
        let connections = [scene.connect(), scene.connect()]
        _ = scene.store.take()
        scene.push([1], 1, on: connections[0])
        #expect(scene.machine.connectionCount == 0)
        scene.push([2], 2, on: connections[1])
        // Its handshake ended too late.
        scene.push([3], 3, on: scene.connect())
        #expect(scene.machine.connectionCount == 0)
        #expect(scene.machine.counts.read == 1)
    }

    @Test func `a damaged segment prevents the start with a sentence`() throws {
        let scene = try GatewayStoreScene()
        scene.push([1], 1, on: scene.connect())
        let number = try #require(scene.store.page(after: 0).first?.number)
        scene.store.damage(number)
        let error = #expect(throws: StoreError.self) { try scene.kill() }
        #expect(error?.description.contains("is damaged") == true)
    }

    // MARK: Clients that the configuration describes

    @Test func `with the mode spool silence means that the store has it, and a rejection is told at the next push`()
        throws
    {
        let scene = try GatewayStoreScene { $0.mode = .spool }
        let connection = scene.connect()
        scene.push([0xff], 0, on: connection)
        scene.answer([0xff])
        scene.store.hold()
        scene.push([1], 1, on: connection)
        scene.wait(.milliseconds(50))
        // The first one counts.
        #expect(scene.machine.counts.released == 1)
        scene.store.release()
        scene.collect()
        #expect(scene.machine.counts.released == 2)
        scene.push([2], 2, on: connection)
        scene.answer([1], Self.bad)
        scene.wait(.seconds(2))
        #expect(scene.told.isEmpty)
        scene.push([1], 3, on: connection)
        scene.wait(.seconds(2))
        #expect(scene.told == [ErrorResponse(status: .invalidToken, identifier: 3)])
    }

    @Test func `a client that is now known not to send again keeps no segments of its episodes`() throws {
        var resends: Bool?
        let scene = try GatewayStoreScene { $0.resends = resends }
        let first = scene.connect()
        scene.push([0xff], 0, on: first)
        scene.answer([0xff])
        for number in UInt8(1)...8 { scene.push([number], UInt32(number), on: first) }
        scene.answer([1], Self.bad)
        for number in UInt8(2)...8 { scene.answer([number]) }
        scene.wait(.seconds(1))
        #expect(scene.told.count == 1)
        resends = false
        try scene.kill()
        let second = scene.connect()
        for number in UInt8(10)..<20 {
            scene.push([number], UInt32(number), on: second)
            scene.answer([number])
            scene.wait(.seconds(10))
        }
        // The last minute, two for each push. With the episode it would be all of them.
        #expect(scene.store.count < 16)
        scene.push([2], 30, on: second)
        scene.wait(.milliseconds(20))
        #expect(scene.sentTokens == [[2]])
    }

    @Test func `a client that was seen to send again is known after a kill`() throws {
        let scene = try GatewayStoreScene()
        scene.push([0xff], 0, on: scene.connect())
        scene.answer([0xff])
        var connection = scene.connect()
        for number in UInt8(1)...8 { scene.push([number], UInt32(number), on: connection) }
        scene.answer([1], Self.bad)
        for number in UInt8(2)...8 { scene.answer([number]) }
        scene.wait(.seconds(1))
        #expect(scene.told.count == 1)
        scene.hangUp(connection)
        connection = scene.connect()
        for number in UInt8(2)...8 { scene.push([number], UInt32(number), on: connection) }
        #expect(scene.sentTokens.isEmpty)
        scene.wait(.minutes(10))
        try scene.kill()
        // In a steady flow, only a client that is known to send again is told on a young connection.
        connection = scene.connect()
        scene.push([0xff], 9, on: connection)
        scene.answer([0xff])
        for number in UInt8(10)...20 {
            scene.push([number], UInt32(number), on: connection)
            if number == 10 { scene.answer([10], Self.bad) } else { scene.answer([number]) }
            scene.wait(.milliseconds(20))
        }
        #expect(scene.told.count == 2)
        // Habits that were not shown for a month are forgotten.
        scene.wait(.hours(24 * 31))
        try scene.kill()
        scene.wait(.seconds(1))
        #expect(scene.store.all(.habits).isEmpty)
    }

    // MARK: The size of the store

    @Test func `segments go when nothing needs them`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        for number in UInt8(1)...100 {
            scene.push([number], UInt32(number), on: connection)
            scene.answer([number])
            scene.wait(.milliseconds(100))
        }
        #expect(scene.store.count > 50)
        scene.wait(.seconds(70))
        scene.push([101], 101, on: connection)
        scene.answer([101])
        scene.wait(.seconds(1))
        #expect(scene.store.count < 5)
    }

    @Test func `an error response that was given up for the next one keeps no segments`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        self.warm(scene, on: connection)
        scene.push([1], 1, on: connection)
        scene.push([2], 2, on: connection)
        scene.store.hold()
        scene.answer([1], Self.bad)
        scene.answer([2], Self.bad)
        // The store takes too long for the first one, and not for the second.
        scene.wait(.milliseconds(1500))
        scene.store.release()
        scene.collect()
        #expect(scene.told.map(\.identifier) == [2])
        scene.hangUp(connection)
        let next = scene.connect()
        for number in UInt8(1)...100 {
            scene.push([3, number], UInt32(number), on: next)
            scene.answer([3, number])
            scene.wait(.seconds(8))
        }
        #expect(scene.store.count < 50)
    }

    @Test func `a notification that waits for hours does not keep all segments`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        for number in 0..<2000 {
            let token = [2, UInt8(number / 250), UInt8(number % 250)]
            scene.push(token, UInt32(2 + number), on: connection)
            scene.answer(token)
            scene.wait(.milliseconds(100))
        }
        scene.wait(.seconds(5))
        // The last minute, at ten a second, and each with its answer.
        #expect(scene.store.count < 1300)
        try scene.kill()
        #expect(scene.sentTokens == [[1]])
        #expect(scene.machine.counts.recovered == 1)
    }
}
