import FerryCore
import Testing

@testable import FerryGateway

/// The sum of several gateways that number their clients and upstreams differently.
@Suite struct GatewaySnapshotTests {
    /// - Parameter clients: the names of the clients, each with the name of its upstream.
    private static func tables(_ upstreams: [String], _ clients: [(String, String)]) throws -> GatewayTables {
        let routes = upstreams.indices.map { Route(upstream: $0, topic: [UInt8($0)]) }
        return GatewayTables(
            upstreams: upstreams.map { GatewayTables.Upstream(name: $0) },
            identities: try clients.map { name, upstream in
                ClientIdentity(name: name, routes: [try #require(upstreams.firstIndex(of: upstream))])
            },
            routes: routes
        )
    }

    /// A gateway whose clients have sent 10 notifications each: 7 accepted, 2 under way, 1 that waits.
    private static func snapshot(_ tables: GatewayTables) -> GatewaySnapshot {
        var snapshot = GatewaySnapshot(tables)
        for number in tables.identities.indices {
            var counts = FateCounts()
            (counts.read, counts.forwarded, counts.waiting, counts.accepted) = (10, 9, 1, 7)
            snapshot.figures.clients[number].counts = counts
            snapshot.figures.clients[number].connections = 2
            snapshot.figures.counts.add(counts)
        }
        for number in tables.upstreams.indices {
            snapshot.figures.upstreams[number].held = number + 1
            snapshot.figures.upstreams[number].shutTopics = [ShutTopic(topic: "t", reason: nil, held: number + 1)]
        }
        return snapshot
    }

    @Test func `clients and upstreams are found by their names, and unknown clients are added once`() throws {
        var sum = GatewaySnapshot(try Self.tables(["a", "b"], [("shop", "a"), ("news", "b")]))
        sum.add(Self.snapshot(try Self.tables(["a", "b"], [("shop", "a"), ("news", "b")])))
        for _ in 0..<2 { sum.add(Self.snapshot(try Self.tables(["b", "a"], [("news", "b"), ("left", "b")]))) }
        let figures = sum.figures
        #expect(figures.clients.map(\.name) == ["shop", "news", "left"])
        #expect(figures.clients.map(\.counts.accepted) == [7, 21, 14])
        #expect(figures.clients.map(\.connections) == [2, 6, 4])
        #expect(figures.clients.map(\.upstream) == [0, 1, 1])
        #expect(figures.upstreams.map(\.held) == [1 + 2 + 2, 2 + 1 + 1])
        #expect(figures.upstreams.map(\.shutTopics.count) == [1, 1])
        #expect(figures.counts.accepted == 42 && figures.counts.isConserved && figures.counts.unanswered == 18)
    }

    @Test func `what a gateway has left keeps its counts, and has no notification without an answer`() throws {
        let tables = try Self.tables(["a"], [("shop", "a")])
        var sum = GatewaySnapshot(tables)
        sum.add(Self.snapshot(tables).left)
        sum.add(Self.snapshot(tables))
        let counts = sum.figures.clients[0].counts
        #expect(counts == sum.figures.counts && counts.isConserved)
        #expect(counts.read == 20 && counts.moved == 3 && counts.unanswered == 3 && counts.waiting == 1)
        #expect(sum.figures.clients[0].connections == 2 && sum.figures.upstreams[0].held == 1)
    }

    @Test func `a provider that is idle after a failure does not make the others' upstream fail`() {
        var (good, idle, busy) = (UpstreamWatch.Figures(), UpstreamWatch.Figures(), UpstreamWatch.Figures())
        (good.state, idle.state, busy.state) = (.good, .failing([.connectFailed]), .failing([.connectFailed]))
        busy.activity.standing.queued = 1
        var sum = UpstreamWatch.Figures()
        sum.join(idle)
        #expect(sum.state == .untried)
        sum.join(good)
        sum.join(idle)
        #expect(sum.state == .good)
        sum.join(busy)
        sum.join(good)
        #expect(sum.state == .failing([.connectFailed]) && sum.activity.standing.queued == 1)
    }
}
