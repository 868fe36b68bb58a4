import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// Notifications to which APNs answers with server errors, and those of another client.
@Suite struct FailingFlowTests {
    private typealias World = IsolationWorld

    private static func client(_ count: Int, rate: Int64) -> World.Client {
        World.Client(count: count, pause: .nanoseconds(1_000_000_000 / rate)) { _ in 0 }
    }

    @Test func `a client for which alone APNs fails leaves the connection that all clients share`() {
        let world = World([Self.client(300, rate: 30), Self.client(20, rate: 2)], .never, isWarm: true)
        world.fails = { client, _ in client == 0 }
        _ = world.run(atMost: .seconds(15))
        // Those under way are answered there, too.
        #expect(world.commonErrors[0] <= 2 * Suspicion.errors + Credit.floor, "\(world.commonErrors)")
        #expect(world.results[1].times.count == 20)
        #expect(world.results[1].p99 <= .milliseconds(90), "\(world.results[1].p99)")
    }

    @Test func `a client returns to the common connection when APNs accepts its notifications`() {
        let world = World([Self.client(600, rate: 30), Self.client(40, rate: 2)], .never, isWarm: true)
        world.fails = { client, _ in client == 0 && world.moment.epochSeconds < 1_700_000_010 }
        _ = world.run(atMost: .minutes(5))
        #expect(world.results[0].times.count == 600 && world.results[0].deadLetters == 0)
        // Its last notifications go the way of the other client.
        #expect(world.paths[0][599]?.last == world.paths[1][39]?.last)
    }

    @Test func `when APNs fails for all, nobody leaves the connection`() {
        let world = World([Self.client(300, rate: 30), Self.client(20, rate: 2)], .never, isWarm: true)
        world.fails = { _, _ in world.moment.epochSeconds < 1_700_000_030 }
        _ = world.run(atMost: .minutes(5))
        #expect(world.dials == 1)
        #expect(world.results.map(\.times.count) == [300, 20])
    }

    @Test func `a server error now and then changes nothing`() {
        let world = World([Self.client(400, rate: 100), Self.client(40, rate: 10)], .never, isWarm: true)
        world.fails = { client, index in client == 0 && index % 8 != 0 && world.paths[0][index]?.count == 1 }
        _ = world.run(atMost: .minutes(5))
        #expect(world.dials == 1)
        #expect(world.results.map(\.times.count) == [400, 40])
    }
}
