import NIOCore
import Testing

@testable import FerryGateway

@Suite struct StrangerOrderTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    @Test func `the one that has waited longest makes room, after its moment`() {
        var order = StrangerOrder()
        #expect(order.makeRoom(now: Self.start) == .none)
        let first = order.begin(.handshaking, now: Self.start)
        let second = order.begin(.handshaking, now: Self.start + .milliseconds(500))
        #expect(order.makeRoom(now: Self.start) == .wait(until: Self.start + .seconds(1)))
        #expect(order.makeRoom(now: Self.start + .seconds(1)) == .close(first))
        #expect(order.makeRoom(now: Self.start + .seconds(1)) == .wait(until: Self.start + .milliseconds(1500)))
        order.end(first)
        #expect(order.makeRoom(now: Self.start + .seconds(2)) == .close(second))
        #expect(order.makeRoom(now: Self.start + .seconds(2)) == .none)
    }

    @Test func `one whose handshake is over waits behind those whose is not, and longer`() {
        var order = StrangerOrder()
        let known = order.begin(.silent, now: Self.start)
        let stranger = order.begin(.handshaking, now: Self.start + .minutes(1))
        #expect(
            order.makeRoom(now: Self.start + .minutes(1)) == .wait(until: Self.start + .minutes(1) + .seconds(1))
        )
        #expect(order.makeRoom(now: Self.start + .minutes(2)) == .close(stranger))
        #expect(order.makeRoom(now: Self.start + .minutes(2)) == .close(known))
        let next = order.begin(.silent, now: Self.start + .minutes(3))
        #expect(
            order.makeRoom(now: Self.start + .minutes(3)) == .wait(until: Self.start + .minutes(4))
        )
        order.end(next)
        #expect(order.makeRoom(now: Self.start + .minutes(5)) == .none)
    }

    @Test func `one that has sent something keeps its place`() {
        var order = StrangerOrder()
        let waits = (0..<1000).map { order.begin(.handshaking, now: Self.start + .milliseconds(Int64($0))) }
        for wait in waits where !wait.isMultiple(of: 100) { order.end(wait) }
        var closed: [StrangerOrder.Wait] = []
        while case .close(let wait) = order.makeRoom(now: Self.start + .minutes(1)) { closed.append(wait) }
        #expect(closed == waits.filter { $0.isMultiple(of: 100) })
    }
}
