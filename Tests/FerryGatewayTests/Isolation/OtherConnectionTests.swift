import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// What may have arrived over a connection that lives on goes out once more over another connection.
@Suite struct OtherConnectionTests {
    private typealias World = IsolationWorld

    private static let causes: [Outcome.UncertainCause] = [.reset, .noAnswer]

    @Test(arguments: causes) func `the copy of a notification goes over another connection`(
        cause: Outcome.UncertainCause
    ) {
        let client = World.Client(count: 200, pause: .milliseconds(2)) { _ in 0 }
        let world = World([client, client], .never, isWarm: true)
        world.trouble = { $1 % 20 == 5 ? cause : nil }
        _ = world.run(atMost: .minutes(10))
        for (result, paths) in zip(world.results, world.paths) {
            #expect(result.times.count == 200 && result.uncertain == 10 && result.deadLetters == 0)
            let copies = paths.filter { $0.value.count > 1 }
            #expect(copies.count == 10)
            #expect(copies.allSatisfy { Set($0.value).count == 2 }, "\(copies)")
        }
        #expect(world.machine.counts.isConserved && world.machine.counts.unanswered == 0)
    }

    @Test(arguments: causes) func `the copy of a suspicious client's notification goes over the next side connection`(
        cause: Outcome.UncertainCause
    ) {
        let client = World.Client(count: 60, pause: .milliseconds(20)) { $0 < 10 ? nil : 0 }
        let world = World([client], .never, isWarm: true)
        world.trouble = { $1 == 30 || $1 == 31 ? cause : nil }
        _ = world.run(atMost: .minutes(10))
        #expect(world.results[0].times.count == 50 && world.results[0].uncertain == 2)
        let copies = world.paths[0].filter { $0.value.count > 1 }
        #expect(copies.count == 2 && copies.allSatisfy { Set($0.value).count == 2 }, "\(copies)")
        #expect(world.results[0].deadLetters == 0 && world.machine.counts.unanswered == 0)
    }

    @Test func `copies and suspicious clients take turns on the side connection`() {
        let dead = World.Client(count: 400, pause: .zero) { _ in nil }
        let good = World.Client(count: 200, pause: .milliseconds(2)) { _ in 0 }
        let world = World([dead, good], .never, isWarm: true)
        world.trouble = { client, index in client == 1 && index % 4 == 0 ? .reset : nil }
        _ = world.run(atMost: .minutes(10))
        #expect(world.results[0].refused == 400)
        #expect(world.results[1].times.count == 200 && world.results[1].deadLetters == 0)
        #expect(world.paths[1].allSatisfy { Set($0.value).count == $0.value.count })
        // Without turns, all copies would wait for the bad tokens of the other client.
        #expect((world.results[1].times.max() ?? .hours(1)) <= .seconds(5), "\(world.results[1].times.max() ?? .zero)")
    }

    /// A machine with one client, whose notifications the test answers.
    private final class Scene {
        let machine: GatewayMachine
        var now = Moment(monotonic: .uptimeNanoseconds(1_000_000_000_000), epochSeconds: 1_700_000_000)
        private(set) var sent: [(tag: PushTag, way: UpstreamWay)] = []
        private(set) var events: [GatewayEvent] = []

        init() {
            var identity = ClientIdentity(name: "old", routes: [0])
            identity.resends = false
            let dispatch = Dispatch(
                identities: [identity],
                routes: [Route(upstream: 0, topic: Array("com.example.app".utf8))],
                upstreams: 1,
                node: 1
            )
            self.machine = GatewayMachine(dispatch) { _, token, _ in
                ReplayKey(high: 0, low: token.reduce(0) { $0 << 8 | UInt64($1) })
            }
            let connection = self.machine.connected(identity: 0, address: [192, 0, 2, 1], now: self.now)
            var bytes = ByteBuffer()
            bytes.writeMultipleIntegers(UInt8(1), UInt32(1), UInt32(0), UInt16(1), UInt8(7), UInt16(10))
            bytes.writeString(#"{"aps":{}}"#)
            self.machine.received(connection, bytes, now: self.now)
            self.collect()
        }

        func answer(_ outcome: Outcome) {
            let records = self.sent.map { OutcomeRecord(tag: $0.tag, outcome: outcome) }
            self.sent = []
            self.machine.settled(records, now: self.now)
            self.collect()
        }

        func wait(_ time: TimeAmount) {
            self.now.monotonic = self.now.monotonic + time
            self.machine.timePassed(now: self.now)
            self.collect()
        }

        private func collect() {
            self.machine.withBatches(for: 0) { way, batch in
                while let next = batch.popFirst() { self.sent.append((next.tag, way)) }
            }
            _ = self.machine.takeEndedSides(of: 0)
            self.events += self.machine.takeEvents()
        }
    }

    @Test func `a copy that is tried again stays off the connection of the first one`() {
        let scene = Scene()
        scene.answer(.uncertain(.reset))
        for _ in 0..<3 {
            #expect(scene.sent.map(\.way) == [.side(SideID(upstream: 0, number: 1))])
            scene.answer(.rejected(Rejection(reason: .serviceUnavailable, origin: .apns, status: 503)))
            scene.wait(.seconds(70))
        }
        scene.answer(.accepted(.confirmed))
        #expect(scene.machine.counts.accepted == 1 && scene.machine.counts.isConserved)
    }

    @Test(arguments: [Outcome.UncertainCause.positionUnknown, .peerCloses, .shutDown])
    func `the copy of what a lost connection had goes over the common way`(cause: Outcome.UncertainCause) {
        let scene = Scene()
        scene.answer(.uncertain(cause))
        #expect(scene.sent.map(\.way) == [.common(upstream: 0)])
    }

    @Test func `a copy that finds no other connection is a dead letter after an hour`() {
        let scene = Scene()
        // Two side connections wait for late answers, so that no other may be opened.
        let outgoing = scene.machine.dispatch.outgoing[0]
        for number in UInt64(1)...2 {
            outgoing.side.dial(now: scene.now.monotonic + .minutes(Int64(number)))
            outgoing.side.wentOut()
            outgoing.side.leave(number)
        }
        scene.answer(.uncertain(.reset))
        #expect(scene.sent.isEmpty)
        let deadline = scene.machine.dispatch.nextDeadline
        #expect(deadline == scene.now.monotonic + GatewayBounds.Jobs.otherConnection)
        scene.wait(.minutes(59))
        #expect(scene.machine.jobCount == 1)
        scene.wait(.minutes(1))
        let deadLetters = scene.events.count { if case .deadLetter = $0 { true } else { false } }
        #expect(deadLetters == 1 && scene.machine.jobCount == 0)
        #expect(scene.machine.counts.isConserved && scene.machine.counts.unanswered == 0)
    }

    @Test func `a shut gate holds copies, too`() {
        let scene = Scene()
        scene.machine.dispatch.outgoing[0].side.dial(now: scene.now.monotonic)
        scene.machine.dispatch.outgoing[0].side.leave(1)
        scene.answer(.uncertain(.reset))
        // The next side connection may be dialled in a second.
        #expect(scene.sent.isEmpty)
        scene.machine.dispatch.takeBack(0, now: scene.now)
        #expect(scene.machine.dispatch.outgoing[0].copies.isEmpty && scene.machine.dispatch.routes.holdsAny(at: 0))
        let deadline = scene.machine.dispatch.outgoing[0].copies.deadline
        #expect(deadline == nil)
    }
}
