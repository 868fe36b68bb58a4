import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// Reloads of the gateway machine in virtual time. The test answers for APNs.
@Suite struct GatewayReloadTests {
    private final class Scene {
        let machine: GatewayMachine
        private var numbers: GatewayNumbers
        var now = Moment(monotonic: .uptimeNanoseconds(1_000_000_000_000), epochSeconds: 1_700_000_000)
        /// The tokens that each upstream has, with the tags of their notifications.
        private(set) var sent: [Int: [(tag: UInt64, token: [UInt8], topic: String?)]] = [:]
        private(set) var actions: [GatewayMachine.Action] = []
        private(set) var events: [GatewayEvent] = []

        init(_ tables: GatewayTables) {
            self.numbers = GatewayNumbers(tables)
            let dispatch = Dispatch(
                identities: tables.identities,
                routes: tables.routes,
                upstreams: tables.upstreams.count,
                node: 1
            )
            self.machine = GatewayMachine(dispatch) { topic, token, payload in
                ReplayKey(high: UInt64(topic.count), low: token.reduce(UInt64(payload.count)) { $0 << 8 | UInt64($1) })
            }
        }

        @discardableResult
        func reload(_ tables: GatewayTables) throws -> GatewayChange {
            let adoption = try self.numbers.numbered(tables)
            self.numbers.adopt(adoption)
            self.machine.adopt(adoption.tables, replaced: adoption.change.replaced, now: self.now)
            self.collect()
            return adoption.change
        }

        func connect(_ identity: Int = 0) -> ConnectionID {
            let id = self.machine.connected(identity: identity, address: [192, 0, 2, 1], now: self.now)
            self.machine.sampled(id, roundTrip: .milliseconds(1))
            return id
        }

        func push(_ token: [UInt8], _ identifier: UInt32 = 1, on connection: ConnectionID) {
            let payload = #"{"aps":{"alert":"Hello"}}"#
            var bytes = ByteBuffer()
            bytes.writeMultipleIntegers(UInt8(1), identifier, UInt32(0), UInt16(token.count))
            bytes.writeBytes(token)
            bytes.writeInteger(UInt16(payload.utf8.count))
            bytes.writeString(payload)
            self.machine.received(connection, bytes, now: self.now)
            self.collect()
        }

        func collect() {
            self.actions += self.machine.takeActions()
            self.events += self.machine.takeEvents()
            for upstream in self.machine.dispatch.outgoing.indices {
                self.machine.withBatches(for: upstream) { _, batch in
                    while let next = batch.popFirst() {
                        let entry = (next.tag.rawValue, next.device.bytes, next.notification.topic)
                        self.sent[upstream, default: []].append(entry)
                    }
                }
            }
        }

        func tokens(at upstream: Int) -> [[UInt8]] { (self.sent[upstream] ?? []).map(\.token) }

        /// Answers the oldest notification to this token at an upstream.
        func answer(_ token: [UInt8], at upstream: Int = 0, _ outcome: Outcome) {
            guard let place = self.sent[upstream]?.firstIndex(where: { $0.token == token }),
                let entry = self.sent[upstream]?.remove(at: place)
            else {
                Issue.record("nothing was sent to \(token)")
                return
            }
            self.machine.settled([OutcomeRecord(tag: PushTag(entry.tag), outcome: outcome)], now: self.now)
            self.collect()
        }

        func wait(_ time: TimeAmount) {
            let end = self.now.monotonic + time
            while let next = self.machine.nextDeadline, next <= end {
                self.advance(to: max(next, self.now.monotonic))
                self.machine.timePassed(now: self.now)
                self.collect()
            }
            self.advance(to: end)
        }

        private func advance(to time: NIODeadline) {
            let seconds = (time - .uptimeNanoseconds(1_000_000_000_000)).nanoseconds / 1_000_000_000
            self.now = Moment(monotonic: time, epochSeconds: 1_700_000_000 + UInt32(seconds))
        }

        var counts: FateCounts { self.machine.counts }
    }

    private typealias Client = (name: String, topics: [String], upstream: Int)

    /// Tables of one upstream for each key. A client names the place of its upstream.
    private static func tables(
        _ keys: [String] = ["a"],
        _ clients: [Client] = [("old", ["com.example.app"], 0)]
    ) -> GatewayTables {
        let upstreams = keys.enumerated().map {
            GatewayTables.Upstream(name: "apns \($0)", key: Array($1.utf8), settings: Array($1.utf8))
        }
        var routes: [Route] = []
        let identities = clients.map { client in
            let first = routes.count
            routes += client.topics.map {
                Route(upstream: client.upstream, topic: Array($0.utf8), upstreamKey: upstreams[client.upstream].key)
            }
            return ClientIdentity(name: client.name, routes: Array(first..<routes.count))
        }
        return GatewayTables(upstreams: upstreams, identities: identities, routes: routes)
    }

    private static func rejected(_ reason: Reason, _ status: Int) -> Outcome {
        .rejected(.init(reason: reason, origin: .apns, status: status))
    }

    @Test func `a reload without a change disturbs nothing`() throws {
        let scene = Scene(Self.tables())
        let connection = scene.connect()
        scene.push([1], on: connection)
        try scene.reload(Self.tables())
        scene.push([2], 2, on: connection)
        #expect(scene.tokens(at: 0) == [[1], [2]])
        scene.answer([1], .accepted(.confirmed))
        scene.answer([2], .accepted(.confirmed))
        #expect(scene.counts.accepted == 2 && scene.counts.unanswered == 0 && scene.counts.isConserved)
        #expect(scene.actions.isEmpty)
    }

    @Test func `what is under way ends on the old key, and a refusal of that key shuts no gate`() throws {
        let scene = Scene(Self.tables(["old key"]))
        let connection = scene.connect()
        scene.push([1], on: connection)
        scene.push([2], 2, on: connection)
        try scene.reload(Self.tables(["new key"]))
        scene.answer([1], .accepted(.confirmed))
        #expect(scene.counts.accepted == 1)
        scene.answer([2], Self.rejected(.invalidProviderToken, 403))
        #expect(scene.tokens(at: 0) == [[2]])
        #expect(scene.events.isEmpty)
        scene.answer([2], .accepted(.confirmed))
        #expect(scene.counts.accepted == 2 && scene.counts.isConserved)
    }

    @Test func `what waits at the shut gate of a refused key goes out with the new key at once`() throws {
        let scene = Scene(Self.tables(["old key"]))
        let connection = scene.connect()
        scene.push([1], on: connection)
        scene.answer([1], Self.rejected(.invalidProviderToken, 403))
        scene.push([2], 2, on: connection)
        #expect(scene.tokens(at: 0).isEmpty)
        try scene.reload(Self.tables(["new key"]))
        #expect(Set(scene.tokens(at: 0)) == [[1], [2]])
        let clear = GatewayEvent.allClear(upstream: 0, topic: "com.example.app")
        #expect(scene.events.contains(clear))
        scene.answer([1], .accepted(.confirmed))
        scene.answer([2], .accepted(.confirmed))
        #expect(scene.counts.accepted == 2 && scene.counts.isConserved)
        // Nobody uses the gate that was shut, so nothing shows it, and no other reload says so again.
        #expect(scene.machine.figures(now: scene.now).upstreams.flatMap(\.shutTopics) == [])
        try scene.reload(Self.tables(["new key"]))
        #expect(scene.events.count { $0 == clear } == 1)
    }

    @Test func `a refused topic that no client has any more raises no alarm, however late its answer`() throws {
        let scene = Scene(Self.tables(["key"], [("old", ["com.example.wrong"], 0)]))
        let connection = scene.connect()
        scene.push([1], on: connection)
        scene.push([2], 2, on: connection)
        scene.answer([1], Self.rejected(.topicDisallowed, 400))
        try scene.reload(Self.tables(["key"]))
        scene.answer([2], Self.rejected(.topicDisallowed, 400))
        #expect(scene.machine.figures(now: scene.now).upstreams.flatMap(\.shutTopics) == [])
        for token: [UInt8] in [[1], [2]] { scene.answer(token, .accepted(.confirmed)) }
        #expect(scene.counts.accepted == 2 && scene.counts.isConserved)
    }

    @Test func `the alarm of a client that a reload removed ends with its last notification`() throws {
        let scene = Scene(Self.tables(["key"], [("old", ["com.example.wrong"], 0), ("new", ["com.example.app"], 0)]))
        let connection = scene.connect()
        scene.push([1], on: connection)
        scene.answer([1], Self.rejected(.topicDisallowed, 400))
        try scene.reload(Self.tables(["key"], [("new", ["com.example.app"], 0)]))
        let clear = GatewayEvent.allClear(upstream: 0, topic: "com.example.wrong")
        // Its notification waits, so the alarm goes on.
        #expect(!scene.events.contains(clear))
        scene.wait(.seconds(3601))
        scene.answer([1], Self.rejected(.topicDisallowed, 400))
        #expect(scene.counts.deadLetters == 1 && scene.counts.isConserved)
        #expect(scene.events.count { $0 == clear } == 1)
        #expect(scene.machine.figures(now: scene.now).upstreams.flatMap(\.shutTopics) == [])
    }

    @Test func `a token that only a wrong host refused goes to the right host, and is not known as bad there`() throws {
        let scene = Scene(Self.tables(["sandbox"]))
        let connection = scene.connect()
        scene.push([1], on: connection)
        try scene.reload(Self.tables(["production"]))
        scene.answer([1], Self.rejected(.badDeviceToken, 400))
        #expect(scene.tokens(at: 0) == [[1]])
        scene.answer([1], .accepted(.confirmed))
        #expect(scene.counts.refused == 0 && scene.counts.accepted == 1)
    }

    @Test func `a client that moves to another upstream takes along what waits`() throws {
        let both = ["a", "b"]
        let scene = Scene(Self.tables(both, [("old", ["com.example.app"], 0)]))
        let connection = scene.connect()
        scene.push([1], on: connection)
        scene.answer([1], Self.rejected(.topicDisallowed, 403))
        scene.push([2], 2, on: connection)
        try scene.reload(Self.tables(both, [("old", ["com.example.app"], 1)]))
        #expect(Set(scene.tokens(at: 1)) == [[1], [2]])
        scene.push([3], 3, on: connection)
        #expect(scene.tokens(at: 1).contains([3]))
        #expect(scene.tokens(at: 0).isEmpty)
        for token: [UInt8] in [[1], [2], [3]] { scene.answer(token, at: 1, .accepted(.confirmed)) }
        #expect(scene.counts.accepted == 3 && scene.counts.isConserved)
        #expect(scene.machine.isDrained(0))
    }

    @Test func `what a removed client left is delivered, and its connection ends with status 10`() throws {
        let two: [Client] = [("old", ["com.example.app"], 0), ("news", ["com.example.news"], 0)]
        let scene = Scene(Self.tables(["a"], two))
        let (old, news) = (scene.connect(0), scene.connect(1))
        scene.push([0], 6, on: old)
        scene.answer([0], .accepted(.confirmed))
        scene.push([1], 7, on: old)
        scene.push([2], 1, on: news)
        scene.answer([1], Self.rejected(.tooManyRequests, 429))
        let change = try scene.reload(Self.tables(["a"], [two[1]]))
        #expect(change.removed == [0])
        scene.machine.end([old], now: scene.now)
        scene.collect()
        scene.wait(.minutes(1))
        let told = scene.actions.compactMap { action -> ErrorResponse? in
            if case .tell(let response) = action.work, action.connection == old { response } else { nil }
        }
        #expect(told.map(\.status) == [.shutdown])
        #expect(scene.actions.contains { $0.connection == old && $0.work == .close })
        #expect(!scene.actions.contains { $0.connection == news && $0.work == .close })
        #expect(scene.tokens(at: 0).contains([1]))
        scene.answer([1], .accepted(.confirmed))
        #expect(scene.machine.figures(now: scene.now).clients.map(\.isConfigured) == [false, true])
        #expect(scene.machine.figures(now: scene.now).clients[0].counts.accepted == 2)
    }

    @Test func `a topic that goes gives its notifications to the topics that stay`() throws {
        let scene = Scene(Self.tables(["a"], [("old", ["com.example.app", "com.example.app.voip"], 0)]))
        let connection = scene.connect()
        scene.push([1], on: connection)
        try scene.reload(Self.tables(["a"], [("old", ["com.example.app.voip"], 0)]))
        scene.answer([1], Self.rejected(.deviceTokenNotForTopic, 400))
        #expect(scene.sent[0]?.map(\.topic) == ["com.example.app.voip"])
        scene.answer([1], .accepted(.confirmed))
        #expect(scene.counts.accepted == 1 && scene.counts.isConserved)
    }

    @Test func `a known bad token of the old key is unknown with the new one`() throws {
        let scene = Scene(Self.tables(["a"]))
        let connection = scene.connect()
        scene.push([0xff], on: connection)
        scene.answer([0xff], .accepted(.confirmed))
        scene.machine.dispatch.verdicts.keep(JobID(rawValue: 999), .init(route: 0, token: [1]), .invalidToken)
        scene.machine.dispatch.verdicts.deferRejection(of: JobID(rawValue: 999), client: 0)
        #expect(scene.machine.dispatch.knownBad([1], identity: 0) == .invalidToken)
        try scene.reload(Self.tables(["b"]))
        scene.push([0xfe], 2, on: connection)
        scene.answer([0xfe], .accepted(.confirmed))
        #expect(scene.machine.dispatch.knownBad([1], identity: 0) == nil)
    }

    @Test func `an upstream that goes is drained when its last notification has an answer`() throws {
        let clients: [Client] = [("old", ["com.example.app"], 0), ("news", ["com.example.news"], 1)]
        let scene = Scene(Self.tables(["a", "b"], clients))
        scene.push([1], on: scene.connect(0))
        var without = Self.tables(["a", "b"], [("news", ["com.example.news"], 1)])
        without.upstreams.removeFirst()
        without.routes = without.routes.map { Route(upstream: 0, topic: $0.topic, upstreamKey: $0.upstreamKey) }
        try scene.reload(without)
        #expect(!scene.machine.isDrained(0))
        scene.answer([1], .accepted(.confirmed))
        #expect(scene.machine.isDrained(0))
    }

    @Test func `a hundred reloads under way lose nothing and double nothing`() throws {
        let scene = Scene(Self.tables(["key 0"]))
        let connection = scene.connect()
        var accepted = 0
        for number in 1...100 {
            scene.push([UInt8(number)], UInt32(number), on: connection)
            try scene.reload(Self.tables(["key \(number % 7)"]))
            if number % 3 == 0 {
                for token in scene.tokens(at: 0) {
                    scene.answer(token, .accepted(.confirmed))
                    accepted += 1
                }
            }
        }
        while let token = scene.tokens(at: 0).first {
            scene.answer(token, .accepted(.confirmed))
            accepted += 1
        }
        #expect(accepted == 100)
        #expect(scene.counts.accepted == 100 && scene.counts.unanswered == 0 && scene.counts.isConserved)
        // Seven keys have seven routes.
        #expect(scene.machine.dispatch.routes.count == 7)
    }
}
