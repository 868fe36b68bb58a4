import NIOCore
import Testing

@testable import FerryGateway

@Suite struct StrangerOrderTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    @Test func `the connection that has waited longest makes room, after its moment`() {
        var order = StrangerOrder()
        order.placeIsWanted(true)
        #expect(order.nextDeadline == nil)
        let first = order.begin(.handshaking, now: Self.start)
        let second = order.begin(.handshaking, now: Self.start + .milliseconds(500))
        #expect(order.nextDeadline == Self.start + .seconds(1))
        #expect(order.makeRoom(now: Self.start + .milliseconds(999)) == nil)
        #expect(order.makeRoom(now: Self.start + .seconds(1)) == first)
        order.end(first)
        order.placeIsWanted(true)
        #expect(order.nextDeadline == Self.start + .milliseconds(1500))
        #expect(order.makeRoom(now: Self.start + .seconds(2)) == second)
        order.placeIsWanted(true)
        #expect(order.nextDeadline == nil)
    }

    @Test func `a connection after its handshake waits behind those before it, and longer`() {
        var order = StrangerOrder()
        let known = order.begin(.silent, now: Self.start)
        let stranger = order.begin(.handshaking, now: Self.start + .minutes(1))
        order.placeIsWanted(true)
        #expect(order.nextDeadline == Self.start + .minutes(1) + .seconds(1))
        #expect(order.makeRoom(now: Self.start + .minutes(2)) == stranger)
        order.placeIsWanted(true)
        #expect(order.makeRoom(now: Self.start + .minutes(2)) == known)
        order.placeIsWanted(true)
        let next = order.begin(.silent, now: Self.start + .minutes(3))
        #expect(order.nextDeadline == Self.start + .minutes(4))
        order.end(next)
        #expect(order.nextDeadline == nil)
    }

    @Test func `a connection that waits costs one other its place, and nobody does when it waits no more`() {
        var order = StrangerOrder()
        let waits = (0..<3).map { _ in order.begin(.silent, now: Self.start) }
        let late = Self.start + .minutes(5)
        #expect(order.makeRoom(now: late) == nil)
        order.placeIsWanted(true)
        #expect(order.makeRoom(now: late) == waits[0])
        #expect(order.nextDeadline == nil)
        #expect(order.makeRoom(now: late) == nil)
        order.placeIsWanted(true)
        order.placeIsWanted(false)
        #expect(order.nextDeadline == nil)
        #expect(order.makeRoom(now: late) == nil)
    }

    @Test func `a connection that has sent something keeps its place`() {
        var order = StrangerOrder()
        let waits = (0..<1000).map { order.begin(.handshaking, now: Self.start + .milliseconds(Int64($0))) }
        for wait in waits where !wait.isMultiple(of: 100) { order.end(wait) }
        var closed: [StrangerOrder.Wait] = []
        order.placeIsWanted(true)
        while let wait = order.makeRoom(now: Self.start + .minutes(1)) {
            closed.append(wait)
            order.placeIsWanted(true)
        }
        #expect(closed == waits.filter { $0.isMultiple(of: 100) })
    }
}
