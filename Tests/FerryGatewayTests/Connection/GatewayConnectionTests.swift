import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

@Suite struct GatewayConnectionTests {
    /// A client that sent the notifications 1 to 5, the second one bad, and is silent.
    static func rejected(_ scenario: GatewayScenario, roundTrip: TimeAmount = .milliseconds(1)) -> UInt64 {
        scenario.roundTrip = roundTrip
        let connection = scenario.connect()
        scenario.pushAll(1...5, on: connection)
        scenario.accept([1])
        scenario.reject(2)
        return connection
    }

    // MARK: Telling

    @Test func `a rejection is told after 250 ms and two round trips of silence, and the followers are adopted`() {
        let scenario = GatewayScenario()
        let connection = Self.rejected(scenario, roundTrip: .milliseconds(100))
        scenario.wait(.milliseconds(449))
        #expect(scenario.told.isEmpty)
        scenario.wait(.milliseconds(1))
        #expect(scenario.told == [.init(connection: connection, status: .invalidToken, identifier: 2)])
        scenario.push(6, on: connection)
        scenario.accept(3...6)
        #expect(scenario.accepted == [1: 1, 3: 1, 4: 1, 5: 1, 6: 1])
        let next = scenario.connect()
        scenario.pushAll(3...7, on: next)
        #expect(scenario.swallowed == [3, 4, 5, 6])
        #expect(scenario.forwarded == [1, 2, 3, 4, 5, 6, 7])
    }

    @Test func `nothing is told before everything ahead of it is resolved`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll(1...3, on: connection)
        scenario.reject(3)
        scenario.accept([1])
        scenario.wait(.seconds(1))
        #expect(scenario.told.isEmpty)
        scenario.accept([2])
        #expect(scenario.told.map(\.identifier) == [3])
    }

    @Test func `a slow notification is released after 2 s, and what is behind it can be told`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll(1...3, on: connection)
        scenario.reject(2)
        scenario.wait(.milliseconds(2100))
        #expect(scenario.released.count == 2)
        #expect(scenario.told.map(\.identifier) == [2])
        #expect(scenario.deferred.isEmpty)
        // Its client counts it as accepted, so only its next push can tell.
        scenario.reject(1)
        #expect(scenario.deferred == [1])
    }

    @Test func `without a spool nothing is released`() {
        let scenario = GatewayScenario()
        scenario.spool = .full
        let connection = scenario.connect()
        scenario.pushAll(1...3, on: connection)
        scenario.reject(2)
        scenario.wait(.seconds(5))
        #expect(scenario.released.isEmpty && scenario.told.isEmpty)
        scenario.accept([1])
        scenario.wait(.seconds(1))
        #expect(scenario.deferred == [2])
    }

    @Test func `a client that never pauses gets no error response, and its rejection is deferred at 2,5 s`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll(1...2, on: connection)
        scenario.reject(1)
        for name: UInt32 in 3...302 {
            scenario.wait(.milliseconds(10))
            scenario.push(name, on: connection)
        }
        #expect(scenario.told.isEmpty)
        #expect(scenario.deferred == [1])
    }

    @Test func `a client that re-sends is told in the middle of a slow flow`() {
        let scenario = GatewayScenario(.resends(Reach(proven: 50)))
        let connection = scenario.connect()
        for name: UInt32 in 1...100 {
            scenario.wait(.milliseconds(10))
            scenario.push(name, on: connection)
            if name == 50 { scenario.accept(1...49) }
            if name == 50 { scenario.reject(50) }
        }
        #expect(scenario.told.map(\.identifier) == [50])
        // All 50 followers, the drained ones too.
        #expect(scenario.filter.entryCount == 50)
    }

    @Test func `a steady flow of an unknown client counts as calm on an old connection only`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        for name: UInt32 in 1...320 {
            scenario.push(name, on: connection)
            if name == 100 || name == 300 { scenario.reject(name) } else { scenario.accept([name]) }
            scenario.wait(.milliseconds(20))
        }
        #expect(scenario.deferred == [100])
        #expect(scenario.told.map(\.identifier) == [300])
    }

    // MARK: The check in the turn of the write

    @Test func `bytes that come while the journal works put the error response off`() {
        let scenario = GatewayScenario()
        scenario.journalDelay = .milliseconds(300)
        let connection = Self.rejected(scenario)
        scenario.wait(.milliseconds(400))
        scenario.push(6, on: connection)
        scenario.wait(.milliseconds(200))
        #expect(scenario.told.isEmpty)
        scenario.wait(.milliseconds(100))
        // The journal has the episode already.
        #expect(scenario.told.map(\.identifier) == [2])
    }

    @Test func `the end of input while the journal works defers the rejection`() {
        let scenario = GatewayScenario()
        scenario.journalDelay = .milliseconds(300)
        let connection = Self.rejected(scenario)
        scenario.wait(.milliseconds(400))
        scenario.end(connection)
        scenario.wait(.seconds(5))
        #expect(scenario.told.isEmpty)
        #expect(scenario.deferred == [2])
    }

    @Test func `an identifier that is used again while the journal works is not named`() {
        let scenario = GatewayScenario()
        scenario.journalDelay = .milliseconds(300)
        let connection = Self.rejected(scenario)
        scenario.wait(.milliseconds(400))
        scenario.push(6, 2, on: connection)
        scenario.wait(.seconds(5))
        #expect(scenario.told.isEmpty)
        #expect(scenario.deferred == [2])
    }

    @Test func `a journal that takes over a second is not waited for`() {
        let scenario = GatewayScenario()
        scenario.journalDelay = .milliseconds(1100)
        _ = Self.rejected(scenario)
        scenario.wait(.seconds(5))
        #expect(scenario.told.isEmpty)
        #expect(scenario.deferred == [2])
    }

    // MARK: The conditions

    @Test func `a client whose notifications all have one identifier is never told`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.push(1, 0, on: connection)
        scenario.reject(1)
        scenario.wait(.seconds(3))
        for name: UInt32 in 2...9 { scenario.push(name, 0, on: connection) }
        scenario.reject(2)
        scenario.wait(.seconds(3))
        #expect(scenario.told.isEmpty)
        #expect(scenario.deferred == [1, 2])
    }

    @Test func `command 0 has no identifier, so its rejection is deferred`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll([1, 2], on: connection)
        scenario.send([0, 0, 4, 0, 0, 0, 3, 0, 2] + Array("{}".utf8), on: connection)
        scenario.reject(3)
        scenario.accept([1, 2])
        scenario.wait(.seconds(3))
        #expect(scenario.told.isEmpty)
        #expect(scenario.deferred == [3])
    }

    @Test func `more followers than the client's cache holds defer the rejection`() {
        for (count, isTold): (UInt32, Bool) in [(100, true), (101, false)] {
            let scenario = GatewayScenario(.resends(Reach(proven: 100, limit: 100)))
            let connection = scenario.connect()
            scenario.pushAll(0...count, on: connection)
            scenario.wait(.milliseconds(200))
            scenario.reject(0)
            #expect(scenario.told.isEmpty == !isTold)
        }
    }

    @Test func `a client that never re-sends is never told`() {
        let scenario = GatewayScenario(.never, isConfigured: true)
        _ = Self.rejected(scenario)
        scenario.wait(.seconds(3))
        #expect(scenario.told.isEmpty)
        #expect(scenario.deferred == [2])
    }

    @Test func `a probe is answered whatever the class, and needs its identifier alone`() {
        let scenario = GatewayScenario(.never, isConfigured: true)
        let connection = scenario.connect()
        scenario.push(1, 7, on: connection)
        scenario.send(GatewayScenario.probe(8), on: connection)
        scenario.wait(.seconds(1))
        #expect(scenario.told.isEmpty)
        scenario.accept([1])
        #expect(scenario.told == [.init(connection: connection, status: .missingDeviceToken, identifier: 8)])
    }

    @Test func `faulty notifications get their documented status, and what follows them is adopted`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.push(1, on: connection)
        let long = [1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 101] + [UInt8](repeating: 1, count: 101) + [0, 1, 0x7b]
        scenario.send(long, on: connection)
        scenario.push(2, on: connection)
        scenario.accept([1, 2])
        scenario.wait(.seconds(1))
        #expect(scenario.told == [.init(connection: connection, status: .invalidTokenSize, identifier: 9)])
        #expect(scenario.forwarded == [1, 2])
        #expect(scenario.readCount == 3 && scenario.refusedCount == 1)
    }

    // MARK: The drain

    @Test func `a silent client is deaf after a second, and closed after 30 s more`() {
        let scenario = GatewayScenario()
        let connection = Self.rejected(scenario)
        scenario.wait(.milliseconds(252))
        #expect(scenario.told.count == 1)
        scenario.wait(.milliseconds(1000))
        scenario.push(3, on: connection)
        // It is the first follower, under its old identifier.
        #expect(scenario.forwarded == [1, 2, 3, 4, 5])
        scenario.push(3, on: connection)
        #expect(scenario.forwarded == [1, 2, 3, 4, 5, 3])
        scenario.reject(4)
        scenario.wait(.milliseconds(29_999))
        #expect(scenario.closed.isEmpty)
        scenario.wait(.milliseconds(1))
        #expect(scenario.closed == [connection])
    }

    @Test func `a client that writes on is drained for 5 s, and its later rejections wait for their copies, too`() {
        let scenario = GatewayScenario()
        let connection = Self.rejected(scenario)
        scenario.wait(.milliseconds(252))
        for name: UInt32 in 100..<180 {
            scenario.push(name, on: connection)
            scenario.wait(.milliseconds(100))
        }
        scenario.reject(170)
        scenario.reject(110)
        #expect(scenario.deferred.isEmpty)
        #expect(scenario.closed.isEmpty)
        scenario.wait(.minutes(2))
        // The episode has ended without a copy.
        #expect(Set(scenario.deferred) == [2, 110, 170])
        #expect(scenario.told.count == 1)
        #expect(scenario.closed == [connection])
    }

    @Test func `notifications from long after the drain are swallowed when a late reader sends them again`() {
        let scenario = GatewayScenario()
        let connection = Self.rejected(scenario)
        scenario.wait(.seconds(8))
        scenario.pushAll(100..<150, on: connection)
        scenario.accept(100..<150)
        scenario.wait(.seconds(1))
        scenario.end(connection)
        let forwarded = scenario.forwarded.count
        let next = scenario.connect()
        scenario.pushAll(100..<150, on: next)
        #expect(scenario.forwarded.count == forwarded)
    }

    @Test func `a rejected follower is told through its copy`() {
        let scenario = GatewayScenario()
        let connection = Self.rejected(scenario)
        scenario.wait(.milliseconds(252))
        scenario.end(connection)
        #expect(scenario.closed == [connection])
        scenario.reject(4)
        let next = scenario.connect()
        scenario.pushAll(3...5, on: next)
        scenario.accept([3, 5])
        scenario.wait(.seconds(1))
        #expect(scenario.told.map(\.identifier) == [2, 4])
        #expect(scenario.deferred.isEmpty)
        #expect(scenario.listed == [2, 4])
        #expect(scenario.forwarded == [1, 2, 3, 4, 5])
    }

    @Test func `the output ends when the client has had time for the error response, and pauses`() {
        let scenario = GatewayScenario()
        let connection = Self.rejected(scenario)
        scenario.wait(.milliseconds(252))
        #expect(scenario.told.count == 1)
        for name in 10..<20 as Range<UInt32> {
            scenario.wait(.milliseconds(50))
            scenario.push(name, on: connection)
        }
        scenario.wait(.milliseconds(150))
        #expect(scenario.outputClosed.isEmpty)
        scenario.wait(.milliseconds(60))
        #expect(scenario.outputClosed == [connection])
        #expect(scenario.closed.isEmpty)
    }

    @Test func `the output ends after 5 s, whatever the client does`() {
        let scenario = GatewayScenario()
        let connection = Self.rejected(scenario)
        scenario.wait(.milliseconds(252))
        for name in 10..<120 as Range<UInt32> {
            scenario.wait(.milliseconds(50))
            scenario.push(name, on: connection)
        }
        #expect(scenario.outputClosed == [connection])
    }

    @Test func `at a shutdown, the output of a client that was told ends a second before the connection`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.shutDown()
        scenario.pushAll([1, 2, 3], on: connection)
        scenario.reject(1)
        scenario.wait(.milliseconds(260))
        #expect(scenario.told.map(\.status) == [.invalidToken])
        for name in 10..<84 as Range<UInt32> {
            scenario.wait(.milliseconds(50))
            scenario.push(name, on: connection)
        }
        #expect(scenario.outputClosed.isEmpty)
        // What the client writes until it sees the end is read.
        for name in 84..<90 as Range<UInt32> {
            scenario.wait(.milliseconds(50))
            scenario.push(name, on: connection)
        }
        #expect(scenario.outputClosed == [connection] && scenario.closed.isEmpty)
        #expect(scenario.forwarded.contains(89))
        scenario.wait(.seconds(1))
        #expect(scenario.closed == [connection])
    }

    @Test func `the output of a client that was told before a shutdown ends a second before the connection, too`() {
        let scenario = GatewayScenario()
        let connection = Self.rejected(scenario)
        scenario.wait(.milliseconds(252))
        #expect(scenario.told.count == 1)
        for name in 10..<98 as Range<UInt32> {
            if name == 50 { scenario.shutDown() }
            scenario.wait(.milliseconds(50))
            scenario.push(name, on: connection)
        }
        #expect(scenario.outputClosed == [connection] && scenario.closed.isEmpty)
        #expect(scenario.forwarded.contains(97))
        scenario.wait(.seconds(1))
        #expect(scenario.closed == [connection])
    }

    // MARK: Faults and shutdown

    @Test func `bytes that are no notification close the output, and everything after them is discarded`() {
        let scenario = GatewayScenario()
        let connection = Self.rejected(scenario)
        scenario.send([9, 9, 9], on: connection)
        #expect(scenario.outputClosed == [connection])
        #expect(scenario.deferred == [2])
        scenario.push(6, on: connection)
        scenario.reject(3)
        #expect(scenario.readCount == 5)
        #expect(scenario.deferred == [2, 3])
        scenario.wait(.seconds(5))
        #expect(scenario.closed == [connection])
    }

    @Test func `a rejection right before bytes that are no notification is told before the end`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll(1...3, on: connection)
        scenario.reject(3)
        scenario.send([125, 125], on: connection)
        #expect(scenario.outputClosed == [] && scenario.told == [])
        scenario.push(6, on: connection)
        scenario.accept(1...2)
        scenario.wait(.milliseconds(500))
        #expect(scenario.told == [.init(connection: connection, status: .invalidToken, identifier: 3)])
        #expect(scenario.readCount == 3)
        scenario.wait(.seconds(5))
        #expect(scenario.closed == [connection])
        #expect(scenario.deferred == [])
    }

    @Test func `a rejection before bytes that are no notification waits no longer than its time`() {
        let scenario = GatewayScenario()
        scenario.spool = .full
        let connection = scenario.connect()
        scenario.pushAll(1...3, on: connection)
        scenario.reject(3)
        scenario.send([125, 125], on: connection)
        scenario.wait(.seconds(3))
        #expect(scenario.told == [])
        #expect(scenario.outputClosed == [connection])
        #expect(scenario.deferred == [3])
        scenario.wait(.seconds(5))
        #expect(scenario.closed == [connection])
    }

    @Test func `a shutdown reads until it is quiet and resolved, and then names the last accepted one`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll(1...3, on: connection)
        scenario.shutDown()
        scenario.wait(.milliseconds(150))
        scenario.push(4, on: connection)
        scenario.wait(.milliseconds(250))
        #expect(scenario.told.isEmpty)
        scenario.accept(1...4)
        #expect(scenario.told == [.init(connection: connection, status: .shutdown, identifier: 4)])
        scenario.wait(.seconds(2))
        #expect(scenario.closed == [connection])
    }

    @Test(arguments: [ReplayClass.unknown, .resends(Reach(proven: 50))])
    func `after its last word, a gateway that hands over leaves the rest to a client that sends it again`(
        replayClass: ReplayClass
    ) {
        let scenario = GatewayScenario(replayClass)
        let connection = scenario.connect()
        scenario.pushAll(1...3, on: connection)
        scenario.accept(1...3)
        scenario.shutDown(handsOver: true)
        scenario.wait(.milliseconds(400))
        #expect(scenario.told == [.init(connection: connection, status: .shutdown, identifier: 3)])
        scenario.push(4, on: connection)
        #expect(scenario.forwarded == (replayClass == .unknown ? [1, 2, 3, 4] : [1, 2, 3]))
        scenario.wait(.seconds(6))
        #expect(scenario.closed == [connection])
    }

    @Test func `a rejection that was given up for status 10 is known when its notification comes again`() {
        let scenario = GatewayScenario(.resends(Reach(proven: 50)))
        scenario.journalDelay = .milliseconds(100)
        let connection = scenario.connect()
        scenario.push(1, on: connection)
        scenario.shutDown()
        for name: UInt32 in 2...60 {
            scenario.accept([name - 1])
            scenario.wait(.milliseconds(50))
            scenario.push(name, on: connection)
        }
        // The journal does not have its error response when the time for status 10 has come.
        scenario.reject(60)
        scenario.wait(.milliseconds(200))
        #expect(scenario.told == [.init(connection: connection, status: .shutdown, identifier: 59)])
        scenario.end(connection)
        let next = scenario.connect()
        scenario.push(60, on: next)
        #expect(scenario.forwarded.count { $0 == 60 } == 1)
        #expect(scenario.swallowed == [60])
    }

    @Test func `a shutdown waits 3 s for a client that writes on, and closes its connection after 5 s`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll([1, 2], on: connection)
        scenario.shutDown()
        for name: UInt32 in 3...98 {
            scenario.accept([name - 1])
            scenario.wait(.milliseconds(50))
            scenario.push(name, on: connection)
            if name == 61 { #expect(scenario.told.isEmpty) }
            if name == 64 { #expect(scenario.told.map(\.status) == [.shutdown]) }
        }
        #expect(scenario.closed.isEmpty)
        scenario.wait(.milliseconds(300))
        #expect(scenario.closed == [connection])
        #expect(scenario.told.map(\.status) == [.shutdown])
    }

    @Test(arguments: [200, 1250, 2800])
    func `a client that never pauses hears of a shutdown, although a rejection waits to be told`(
        each milliseconds: Int64
    ) {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll([1, 2], on: connection)
        scenario.shutDown()
        var (passed, rejections) = (Int64(0), Int64(0))
        for name: UInt32 in 3...980 {
            passed += 5
            if passed / milliseconds > rejections {
                rejections += 1
                scenario.reject(name - 1)
            } else {
                scenario.accept([name - 1])
            }
            scenario.wait(.milliseconds(5))
            scenario.push(name, on: connection)
            if name == 580 { #expect(scenario.told.isEmpty) }
            // What is rejected after the last word is sent again by the client.
            if name == 620 { #expect(Int64(scenario.deferred.count) >= rejections) }
            if name == 620 { #expect(scenario.told.map(\.status) == [.shutdown]) }
        }
        #expect(scenario.told.map(\.status) == [.shutdown])
        scenario.wait(.milliseconds(300))
        #expect(scenario.closed == [connection])
    }

    @Test func `a client without numbers, or idle for a minute, gets a plain close at the shutdown`() {
        for isIdle in [true, false] {
            let scenario = GatewayScenario()
            let connection = scenario.connect()
            scenario.push(1, 0, on: connection)
            scenario.push(2, isIdle ? 1 : 0, on: connection)
            scenario.accept([1, 2])
            scenario.wait(isIdle ? .seconds(61) : .seconds(1))
            scenario.shutDown()
            scenario.wait(.seconds(3))
            #expect(scenario.told.isEmpty)
            #expect(scenario.outputClosed == [connection])
            #expect(scenario.closed == [connection])
        }
    }

    @Test func `without a spool a stuck upstream ends the connection before it was held for 8 s`() {
        let scenario = GatewayScenario()
        scenario.spool = .full
        let connection = scenario.connect()
        scenario.pushAll(0..<UInt32(GatewayBounds.window + 9), on: connection)
        #expect(!scenario.isReading(connection))
        scenario.accept([0])
        #expect(!scenario.isReading(connection))
        scenario.wait(.seconds(20))
        #expect(scenario.told == [.init(connection: connection, status: .shutdown, identifier: 0)])
        #expect(scenario.closed == [connection])
        #expect(scenario.longestStop <= .seconds(8))
    }

    @Test func `with a spool a stuck upstream stops the reading for 2 s only`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll(0..<UInt32(GatewayBounds.window), on: connection)
        scenario.wait(.seconds(20))
        #expect(scenario.isReading(connection))
        #expect(scenario.longestStop <= GatewayBounds.release)
    }
}
