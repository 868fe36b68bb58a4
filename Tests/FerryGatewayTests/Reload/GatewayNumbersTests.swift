import Testing

@testable import FerryGateway

@Suite struct GatewayNumbersTests {
    /// Makes tables with these upstreams, and clients with one topic each: name, topic, place of the upstream.
    private static func tables(
        _ upstreams: [(name: String, key: String)],
        _ clients: [(name: String, topic: String, upstream: Int)]
    ) -> GatewayTables {
        GatewayTables(
            upstreams: upstreams.map { .init(name: $0.name, key: Array($0.key.utf8), settings: Array($0.key.utf8)) },
            identities: clients.indices.map { ClientIdentity(name: clients[$0].name, routes: [$0]) },
            routes: clients.map {
                Route(
                    upstream: $0.upstream,
                    topic: Array($0.topic.utf8),
                    upstreamKey: Array(upstreams[$0.upstream].key.utf8)
                )
            }
        )
    }

    private static let shop = ("shop", "com.example.shop", 0)
    private static let news = ("news", "com.example.news", 0)
    private static let blog = ("blog", "com.example.blog", 0)

    @Test func `the same configuration changes nothing`() throws {
        let tables = Self.tables([("apns", "a")], [Self.shop, Self.news])
        let adoption = try GatewayNumbers(tables).numbered(tables)
        #expect(adoption.change.isEmpty && adoption.change.replaced.isEmpty)
        #expect(adoption.clients == [0, 1])
        #expect(adoption.upstreams == [0])
        #expect(adoption.tables.routes.count == 2)
    }

    @Test(arguments: [.fingerprints([[2]]), .userID("shop"), .anyone] as [GatewayClients.Sign])
    func `a client that is known by another sign has changed, and keeps its number`(sign: GatewayClients.Sign) throws {
        var tables = Self.tables([("apns", "a")], [Self.shop, Self.news])
        tables.identities[1].sign = .fingerprints([[1]])
        let numbers = GatewayNumbers(tables)
        #expect(try numbers.numbered(tables).change.isEmpty)
        tables.identities[1].sign = sign
        let adoption = try numbers.numbered(tables)
        #expect(adoption.change.clients.changed == ["news"])
        #expect(adoption.change.upstreams.isEmpty && adoption.change.replaced.isEmpty)
        #expect(adoption.clients == [0, 1])
    }

    @Test func `another order of clients changes nothing`() throws {
        let numbers = GatewayNumbers(Self.tables([("apns", "a")], [Self.shop, Self.news]))
        let adoption = try numbers.numbered(Self.tables([("apns", "a")], [Self.news, Self.shop]))
        #expect(adoption.change.isEmpty)
        #expect(adoption.clients == [1, 0])
        #expect(adoption.tables.identities.map(\.name) == ["shop", "news"])
        #expect(adoption.tables.identities.map(\.routes) == [[0], [1]])
    }

    @Test func `a client that goes keeps its number, and finds it again`() throws {
        var numbers = GatewayNumbers(Self.tables([("apns", "a")], [Self.shop, Self.news]))
        let without = try numbers.numbered(Self.tables([("apns", "a")], [Self.news]))
        #expect(without.change.clients.removed == ["shop"])
        #expect(without.change.removed == [0])
        #expect(without.clients == [1])
        #expect(without.tables.identities.map(\.isConfigured) == [false, true])
        numbers.adopt(without)
        let again = try numbers.numbered(Self.tables([("apns", "a")], [Self.blog, Self.shop, Self.news]))
        #expect(again.change.clients.added == ["blog", "shop"])
        #expect(again.change.clients.removed.isEmpty)
        #expect(again.clients == [2, 0, 1])
        #expect(again.tables.identities.map(\.isConfigured) == [true, true, true])
    }

    @Test func `a key that changed makes new routes, and replaces the provider`() throws {
        var numbers = GatewayNumbers(Self.tables([("apns", "a")], [Self.shop]))
        let changed = try numbers.numbered(Self.tables([("apns", "b")], [Self.shop]))
        #expect(changed.change.upstreams.changed == ["apns"])
        #expect(changed.change.replaced == [0])
        #expect(changed.change.clients.isEmpty)
        #expect(changed.tables.identities[0].routes == [1])
        numbers.adopt(changed)
        let back = try numbers.numbered(Self.tables([("apns", "a")], [Self.shop]))
        #expect(back.tables.identities[0].routes == [0])
        #expect(back.tables.routes.count == 2)
    }

    @Test func `what a removed client left goes out with the present key of its upstream`() throws {
        let numbers = GatewayNumbers(Self.tables([("apns", "a")], [Self.shop, Self.news]))
        let adoption = try numbers.numbered(Self.tables([("apns", "b")], [Self.news]))
        let route = try #require(adoption.tables.identities[0].routes.first)
        #expect(adoption.tables.routes[route].topic == Array("com.example.shop".utf8))
        #expect(adoption.tables.routes[route].upstreamKey == Array("b".utf8))
    }

    @Test func `an upstream that goes stays with what it had`() throws {
        let numbers = GatewayNumbers(
            Self.tables([("old", "a"), ("new", "b")], [Self.shop, ("news", "com.example.news", 1)])
        )
        let adoption = try numbers.numbered(Self.tables([("new", "b")], [("news", "com.example.news", 0)]))
        #expect(adoption.change.upstreams.removed == ["old"])
        #expect(adoption.upstreams == [1])
        #expect(adoption.tables.upstreams.map(\.isConfigured) == [false, true])
        #expect(adoption.tables.identities[0].routes == [0])
    }

    @Test func `a client has an identity for each upstream that a listener names`() throws {
        var tables = Self.tables(
            [("production", "a"), ("sandbox", "b")],
            [Self.shop, ("shop", "com.example.shop", 1)]
        )
        tables.identities[1].listenerUpstream = "sandbox"
        let adoption = try GatewayNumbers(tables).numbered(tables)
        #expect(adoption.clients == [0, 1])
        #expect(adoption.tables.identities.map(\.label) == ["shop", "shop (sandbox)"])
        #expect(Set(adoption.tables.identities.map(\.storeName)).count == 2)
    }

    @Test func `a reload that would leave too much behind is refused`() throws {
        var limits = GatewayNumbers.Limits()
        limits.clients = 1
        let numbers = GatewayNumbers(Self.tables([("apns", "a")], [Self.shop, Self.news]), limits: limits)
        #expect(throws: Never.self) { try numbers.numbered(Self.tables([("apns", "a")], [Self.news])) }
        let fault = #expect(throws: ReloadFault.self) {
            try numbers.numbered(Self.tables([("apns", "a")], [Self.blog]))
        }
        #expect(fault?.description.contains("Restart") == true)
    }
}
