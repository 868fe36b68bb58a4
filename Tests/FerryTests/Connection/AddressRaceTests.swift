import Dispatch
import Ferry
import NIOCore
import NIOPosix
import Synchronization
import Testing

struct AddressRaceTests {
    private static func at(_ milliseconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .milliseconds(milliseconds) }

    @Test func `one address is tried, and its failure is the end`() {
        var race = AddressRace(count: 1, limit: .seconds(10))
        #expect(race.next(now: Self.at(0)) == .start(0))
        #expect(race.next(now: Self.at(0)) == .wait(until: nil))
        race.connected(0)
        #expect(race.next(now: Self.at(9_000)) == .wait(until: nil))
        race.failed(0)
        #expect(race.next(now: Self.at(9_000)) == .giveUp)
    }

    @Test func `a failure is followed by the next address at once`() {
        var race = AddressRace(count: 3, limit: .seconds(10))
        #expect(race.next(now: Self.at(0)) == .start(0))
        race.failed(0)
        #expect(race.next(now: Self.at(1)) == .start(1))
        race.connected(1)
        race.failed(1)
        #expect(race.next(now: Self.at(2)) == .start(2))
        race.failed(2)
        #expect(race.next(now: Self.at(3)) == .giveUp)
    }

    @Test func `without TCP the next begins after 250 ms, with TCP and without TLS after 2 s`() {
        var race = AddressRace(count: 3, limit: .seconds(10))
        #expect(race.next(now: Self.at(0)) == .start(0))
        #expect(race.next(now: Self.at(0)) == .wait(until: Self.at(250)))
        #expect(race.next(now: Self.at(250)) == .start(1))
        race.connected(1)
        #expect(race.next(now: Self.at(251)) == .wait(until: Self.at(2250)))
        #expect(race.next(now: Self.at(2250)) == .start(2))
        // The first two may still complete.
        race.failed(2)
        #expect(race.next(now: Self.at(2251)) == .wait(until: nil))
        race.failed(0)
        race.failed(1)
        #expect(race.next(now: Self.at(2252)) == .giveUp)
    }

    @Test(arguments: [2, 3, 8], [TimeAmount.milliseconds(100), .seconds(1), .seconds(10)])
    func `the last address has its share of the time although all others are silent`(count: Int, limit: TimeAmount) {
        var race = AddressRace(count: count, limit: limit)
        var now = Self.at(0)
        var begun = 0
        while begun < count {
            switch race.next(now: now) {
            case .start(let place):
                begun += 1
                race.connected(place)
            case .wait(let until): now = until ?? .distantFuture
            case .giveUp: Issue.record("nothing failed")
            }
        }
        #expect(now + .nanoseconds(limit.nanoseconds / Int64(count + 1)) <= Self.at(0) + limit)
    }

    @Test func `families take turns, and an address that has worked comes first`() throws {
        func addresses(_ texts: String...) throws -> [SocketAddress] {
            try texts.map { try SocketAddress(ipAddress: $0, port: 2195) }
        }
        let found = try addresses("::1", "::2", "::3", "127.0.0.1", "127.0.0.2")
        let turns = try addresses("::1", "127.0.0.1", "::2", "127.0.0.2", "::3")
        #expect(HostAddresses.ordered(found, proven: nil) == turns)
        #expect(try HostAddresses.ordered(found, proven: addresses("127.0.0.2")[0]).first == addresses("127.0.0.2")[0])
        #expect(try HostAddresses.ordered(found, proven: addresses("10.0.0.1")[0]) == turns)
        let many = try (1...20).map { try SocketAddress(ipAddress: "127.0.0.\($0)", port: 2195) }
        #expect(HostAddresses.ordered(many, proven: many[19]) == [many[19]] + many.prefix(7))
    }

    @Test func `the next look-up gives the address where TLS was established first`() async throws {
        let found = try ["127.0.0.2", "127.0.0.1"].map { try SocketAddress(ipAddress: $0, port: 2195) }
        let addresses = HostAddresses(host: "localhost", port: 2195, source: { _, _ in found })
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        #expect(try await addresses.find(on: loop).get() == found)
        addresses.proved(found[1])
        #expect(try await addresses.find(on: loop).get() == found.reversed())
    }

    @Test func `who asks while a look-up is under way gets its answer`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let calls = Atomic<Int>(0)
        let addresses = HostAddresses(host: "localhost", port: 2195) { _, port in
            calls.add(1, ordering: .relaxed)
            gate.wait()
            return [try SocketAddress(ipAddress: "127.0.0.1", port: port)]
        }
        let group = MultiThreadedEventLoopGroup.singleton
        let answers = (0..<10).map { _ in addresses.find(on: group.next()) }
        gate.signal()
        for answer in answers { #expect(try await answer.get().count == 1) }
        #expect(calls.load(ordering: .relaxed) == 1)
        gate.signal()
        #expect(try await addresses.find(on: group.next()).get().count == 1)
    }
}
