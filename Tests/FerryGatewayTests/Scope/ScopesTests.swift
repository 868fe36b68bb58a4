import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

@Suite struct ScopesTests {
    private static let start = Moment(monotonic: .uptimeNanoseconds(1_000_000_000_000), epochSeconds: 1_700_000_000)

    private static func key(_ identity: Int, _ host: UInt8) -> ReplayScope {
        ReplayScope(identity: identity, address: [10, 0, 0, host])
    }

    private static func around(_ time: TimeAmount = .zero) -> GatewayScope.Surroundings {
        var now = Self.start
        now.monotonic = now.monotonic + time
        return GatewayScope.Surroundings(now: now, spool: .open)
    }

    private static func followers(_ jobs: Range<UInt64>) -> [Follower] {
        jobs.map {
            Follower(key: FilterScenario.key($0), job: JobID(rawValue: $0), fate: .running, isConstant: false)
        }
    }

    @Test func `the oldest episode of an identity, or of all, makes room`() {
        var scopes = Scopes(isStored: false, limit: 30, identityLimit: 20)
        var effects: [Effect] = []
        var job: UInt64 = 0
        func open(_ identity: Int, _ host: UInt8, _ count: UInt64, at time: TimeAmount) {
            let place = scopes.place(of: Self.key(identity, host), new: ReplayFilter())
            scopes.with(place, Self.around(time), &effects) { scope, effects in
                let followers = Self.followers(job + 1..<job + 1 + count)
                job += count
                let id = EpisodeID(connection: ConnectionID(job), sequence: 0)
                scope.restore(id, .rejection, followers, now: Self.around(time).now, &effects)
            }
        }
        func count(_ identity: Int, _ host: UInt8) -> Int {
            var count = 0
            let place = scopes.place(of: Self.key(identity, host), new: ReplayFilter())
            scopes.with(place, Self.around(), &effects) { scope, _ in count = scope.filter.entryCount }
            return count
        }
        open(1, 1, 15, at: .seconds(1))
        open(1, 2, 10, at: .seconds(2))
        #expect(count(1, 1) == 0 && count(1, 2) == 10)
        open(2, 1, 15, at: .seconds(3))
        open(3, 1, 15, at: .seconds(4))
        #expect(count(1, 2) == 0 && count(2, 1) == 15 && count(3, 1) == 15)
        #expect(scopes.entryCount == 30)
    }

    @Test func `scopes whose clients are gone make room, but not those with copies to come`() {
        var scopes = Scopes(isStored: false, scopeLimit: 2)
        var effects: [Effect] = []
        func open(_ host: UInt8) {
            let place = scopes.place(of: Self.key(1, host), new: ReplayFilter())
            let connection = GatewayConnection(
                ConnectionID(UInt64(host)),
                decoder: NotificationDecoder(),
                spool: .open,
                now: Self.start.monotonic
            )
            scopes.opened(connection, at: place)
        }
        func close(_ host: UInt8) -> [ReplayScope] {
            let place = scopes.place(of: Self.key(1, host), new: ReplayFilter())
            scopes.with(place, Self.around(), &effects) { scope, effects in
                scope.inputEnded(ConnectionID(UInt64(host)), Self.around(), &effects)
            }
            return scopes.closed(place)
        }
        for host in UInt8(1)...4 { open(host) }
        let first = scopes.place(of: Self.key(1, 1), new: ReplayFilter())
        scopes.with(first, Self.around(), &effects) { scope, effects in
            let id = EpisodeID(connection: ConnectionID(1), sequence: 0)
            scope.restore(id, .rejection, Self.followers(1..<2), now: Self.start, &effects)
        }
        #expect(close(1).isEmpty && close(2).isEmpty)
        // An answer for a client that is gone makes its filter anew.
        _ = scopes.place(of: Self.key(1, 5), new: ReplayFilter())
        open(2)
        // It never had a connection here, so its row stays: it may be a client of another shard.
        #expect(close(3).isEmpty)
        #expect(scopes.count == 4)
        #expect(close(4) == [Self.key(1, 3)])
        scopes.with(first, Self.around(), &effects) { scope, _ in #expect(scope.filter.entryCount == 1) }
    }

    @Test func `a late answer for a scope that was forgotten meets no stranger`() {
        var scopes = Scopes(isStored: false, scopeLimit: 1)
        var effects: [Effect] = []
        let old = scopes.place(of: Self.key(1, 1), new: ReplayFilter())
        let other = scopes.place(of: Self.key(1, 2), new: ReplayFilter())
        _ = scopes.closed(other)
        let new = scopes.place(of: Self.key(1, 3), new: ReplayFilter())
        #expect(new != old)
        var isMet = false
        scopes.with(old, Self.around(), &effects) { _, _ in isMet = true }
        #expect(!isMet)
    }

    @Test func `after a connection has ended, each other one has a place of its own`() {
        var connections = ScopeConnections()
        let ids = (1...4 as ClosedRange<UInt64>).map { ConnectionID($0) }
        for id in ids {
            let now = Self.start.monotonic
            connections.append(GatewayConnection(id, decoder: NotificationDecoder(), spool: .open, now: now))
        }
        for (number, gone) in ids.enumerated() {
            guard let index = connections.index(of: gone) else { break }
            connections.remove(at: index)
            var places = [connections.index(of: gone)]
            for id in ids[(number + 1)...] { places.append(connections.index(of: id)) }
            #expect(Set(places.dropFirst()) == Set(0..<(ids.count - number - 1)) && places[0] == nil)
        }
    }
}
