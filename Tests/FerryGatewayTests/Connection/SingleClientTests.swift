import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// Clients that open a connection for each notification, and clients that look like them.
@Suite struct SingleClientTests {
    /// Sends one notification on a connection of its own, which the client ends after a time.
    private static func single(
        _ scenario: GatewayScenario,
        _ name: UInt32,
        _ identifier: UInt32 = 1,
        closesAfter time: TimeAmount = .milliseconds(200)
    ) {
        let connection = scenario.connect()
        scenario.push(name, identifier, on: connection)
        scenario.accept([name])
        scenario.wait(time)
        scenario.end(connection)
    }

    @Test func `a client that opens a connection for each notification is told there, from the second one on`() {
        let scenario = GatewayScenario()
        let first = scenario.connect()
        scenario.push(1, 1, on: first)
        scenario.reject(1)
        scenario.wait(.milliseconds(500))
        scenario.end(first)
        #expect(scenario.told.isEmpty && scenario.deferred == [1])
        let second = scenario.connect()
        scenario.push(2, 1, on: second)
        scenario.reject(2)
        scenario.wait(.milliseconds(500))
        scenario.end(second)
        #expect(scenario.told == [.init(connection: second, status: .invalidToken, identifier: 1)])
    }

    @Test func `the connections that are open when it ends the first one are told, too`() {
        let scenario = GatewayScenario()
        var connections: [UInt64] = []
        for name in 1...40 as ClosedRange<UInt32> {
            connections.append(scenario.connect())
            scenario.push(name, 1, on: connections[Int(name) - 1])
            scenario.wait(.milliseconds(5))
            if name % 2 == 0 { scenario.reject(name) } else { scenario.accept([name]) }
        }
        #expect(scenario.told.isEmpty && scenario.deferred.isEmpty)
        scenario.end(connections[0])
        scenario.wait(.milliseconds(50))
        #expect(Set(scenario.told.map(\.connection)) == Set(stride(from: 2, through: 40, by: 2)))
        #expect(scenario.deferred.isEmpty)
    }

    @Test func `a rejection is deferred if no later event lets it be told within 2.5 s`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.push(1, 1, on: connection)
        scenario.reject(1)
        scenario.wait(.milliseconds(2400))
        #expect(scenario.deferred.isEmpty)
        scenario.wait(.milliseconds(200))
        #expect(scenario.deferred == [1] && scenario.told.isEmpty)
    }

    @Test func `a second notification with the same identifier ends the wait`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.push(1, 0, on: connection)
        scenario.reject(1)
        #expect(scenario.deferred.isEmpty)
        scenario.push(2, 0, on: connection)
        #expect(scenario.deferred == [1])
    }

    @Test func `a second notification with another one shows that the client can find the first`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.push(1, 1, on: connection)
        scenario.reject(1)
        scenario.wait(.milliseconds(100))
        scenario.push(2, 2, on: connection)
        scenario.accept([2])
        scenario.wait(.seconds(1))
        #expect(scenario.told.map(\.identifier) == [1] && scenario.deferred.isEmpty)
    }

    @Test(arguments: [1, 300] as [Int64])
    func `a rejection waits for 200 ms, so that it is told 50 ms after its notification`(roundTrip: Int64) {
        let scenario = GatewayScenario()
        scenario.roundTrip = .milliseconds(roundTrip)
        for name in 1...5 as ClosedRange<UInt32> { Self.single(scenario, name) }
        let connection = scenario.connect()
        scenario.push(6, 1, on: connection)
        scenario.wait(.milliseconds(40))
        scenario.reject(6)
        #expect(scenario.told.isEmpty)
        scenario.wait(.milliseconds(10))
        #expect(scenario.told.map(\.connection) == [connection])
    }

    @Test func `a verdict that takes longer is told at once`() {
        let scenario = GatewayScenario()
        Self.single(scenario, 1)
        let connection = scenario.connect()
        scenario.push(2, 1, on: connection)
        scenario.wait(.milliseconds(60))
        scenario.reject(2)
        #expect(scenario.told.map(\.connection) == [connection])
    }

    @Test func `a client with one identifier for all, whose connections are cut, stays open, and is never told`() {
        let scenario = GatewayScenario()
        for name in 1...20 as ClosedRange<UInt32> {
            let connection = scenario.connect()
            scenario.push(name, 0, on: connection)
            if name % 2 == 0 { scenario.reject(name) } else { scenario.accept([name]) }
            scenario.wait(.hours(1))
            scenario.end(connection)
        }
        #expect(scenario.told.isEmpty)
    }

    @Test func `a client that stayed open behind one notification is told no more as one that does not`() {
        let scenario = GatewayScenario()
        Self.single(scenario, 1)
        // A process that was killed right behind its first notification looks the same.
        let connection = scenario.connect()
        scenario.push(2, 0, on: connection)
        scenario.accept([2])
        scenario.wait(.seconds(10))
        let next = scenario.connect()
        scenario.push(3, 0, on: next)
        scenario.reject(3)
        scenario.wait(.seconds(1))
        #expect(scenario.told.isEmpty)
    }

    @Test func `a client that gave one identifier twice on a connection is told no more as one of short connections`() {
        let scenario = GatewayScenario()
        Self.single(scenario, 1)
        let connection = scenario.connect()
        scenario.push(2, 0, on: connection)
        scenario.push(3, 0, on: connection)
        scenario.accept([2, 3])
        scenario.end(connection)
        let next = scenario.connect()
        scenario.push(4, 0, on: next)
        scenario.reject(4)
        scenario.wait(.seconds(1))
        #expect(scenario.told.isEmpty)
    }

    @Test func `a client that does not always number its notifications is told where it does`() {
        let scenario = GatewayScenario()
        let mixed = scenario.connect()
        scenario.push(1, 0, on: mixed)
        scenario.push(2, 0, on: mixed)
        scenario.push(3, 5, on: mixed)
        scenario.accept(1...3)
        scenario.wait(.seconds(1))
        let connection = scenario.connect()
        scenario.push(4, 7, on: connection)
        scenario.reject(4)
        scenario.wait(.seconds(3))
        #expect(scenario.told.isEmpty)
        scenario.push(5, 8, on: connection)
        scenario.reject(5)
        scenario.wait(.seconds(1))
        #expect(scenario.told.map(\.identifier) == [8])
    }

    @Test func `a client that sends again on the connection that was told still numbers its notifications`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll(1...5, on: connection)
        scenario.reject(2)
        scenario.accept([1, 3, 4, 5])
        scenario.wait(.milliseconds(300))
        #expect(scenario.told.map(\.identifier) == [2])
        scenario.pushAll(3...5, on: connection)
        scenario.end(connection)
        let next = scenario.connect()
        scenario.push(6, on: next)
        scenario.reject(6)
        scenario.wait(.seconds(1))
        #expect(scenario.told.map(\.identifier) == [2, 6])
    }

    @Test func `a new notification with an old identifier counts on the connection that was told, too`() {
        let scenario = GatewayScenario()
        let connection = scenario.connect()
        scenario.pushAll(1...2, on: connection)
        scenario.reject(2)
        scenario.accept([1])
        scenario.wait(.milliseconds(300))
        scenario.push(11, 1, on: connection)
        scenario.end(connection)
        let next = scenario.connect()
        scenario.push(12, 1, on: next)
        scenario.reject(12)
        scenario.wait(.seconds(3))
        #expect(scenario.told.map(\.identifier) == [2])
    }

    @Test func `a client with one identifier for all shows it on a connection that was told, too`() {
        let scenario = GatewayScenario()
        Self.single(scenario, 1, 0)
        let connection = scenario.connect()
        scenario.push(2, 0, on: connection)
        scenario.reject(2)
        scenario.wait(.milliseconds(300))
        #expect(scenario.told.map(\.connection) == [connection])
        scenario.push(3, 0, on: connection)
        scenario.end(connection)
        let next = scenario.connect()
        scenario.push(4, 0, on: next)
        scenario.reject(4)
        scenario.wait(.seconds(1))
        #expect(scenario.told.map(\.connection) == [connection])
    }

    @Test func `a second notification on the connection makes it one like any other`() {
        let scenario = GatewayScenario()
        Self.single(scenario, 1)
        let connection = scenario.connect()
        scenario.push(2, 0, on: connection)
        scenario.push(3, 0, on: connection)
        scenario.reject(2)
        scenario.wait(.seconds(1))
        #expect(scenario.told.isEmpty)
    }

    @Test func `the only notification of a connection is not named by status 10`() {
        let scenario = GatewayScenario()
        Self.single(scenario, 1)
        let connection = scenario.connect()
        scenario.push(2, 1, on: connection)
        scenario.accept([2])
        scenario.shutDown()
        scenario.wait(.seconds(2))
        #expect(scenario.told.isEmpty)
        #expect(scenario.outputClosed == [connection])
    }

    @Test func `habits are forgotten after 30 days`() {
        let scenario = GatewayScenario()
        scenario.filter.today = 100
        Self.single(scenario, 1)
        #expect(scenario.filter.standing(now: scenario.now).isSingle)
        scenario.filter.today = 130
        #expect(scenario.filter.standing(now: scenario.now).isSingle)
        scenario.filter.today = 131
        #expect(!scenario.filter.standing(now: scenario.now).isSingle)
        // The clock may be set back.
        scenario.filter.today = 90
        #expect(scenario.filter.standing(now: scenario.now).isSingle)
    }
}
