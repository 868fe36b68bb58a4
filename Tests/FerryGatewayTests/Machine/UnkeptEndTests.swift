import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// The end of a gateway without a store.
@Suite struct UnkeptEndTests {
    private final class Scene {
        let machine: GatewayMachine
        let now = Moment(monotonic: .uptimeNanoseconds(1_000_000_000_000), epochSeconds: 1_700_000_000)
        private(set) var sent: [UInt64] = []
        private(set) var lines: [GatewayEvent] = []

        init() {
            let dispatch = Dispatch(
                identities: [ClientIdentity(name: "shop", routes: [0])],
                routes: [Route(upstream: 0, topic: Array("com.example.shop".utf8))],
                upstreams: 1,
                node: 1
            )
            self.machine = GatewayMachine(dispatch) { _, token, _ in
                ReplayKey(high: 0, low: token.reduce(0) { $0 << 8 | UInt64($1) })
            }
        }

        /// Has these tokens pushed. An upstream takes as many as the client's credit lets out.
        func push(_ tokens: ClosedRange<UInt8>) {
            let connection = self.machine.connected(identity: 0, address: [192, 0, 2, 1], now: self.now)
            for token in tokens {
                var bytes = ByteBuffer()
                bytes.writeMultipleIntegers(UInt8(1), UInt32(token), UInt32(0), UInt16(1), token, UInt16(10))
                bytes.writeString(#"{"aps":{}}"#)
                self.machine.received(connection, bytes, now: self.now)
            }
            self.collect()
        }

        func answer(_ tag: UInt64, _ outcome: Outcome) {
            self.machine.settled([OutcomeRecord(tag: PushTag(tag), outcome: outcome)], now: self.now)
            self.collect()
        }

        func collect() {
            self.machine.withBatches(for: 0) { _, batch in
                while let next = batch.popFirst() { self.sent.append(next.tag.rawValue) }
            }
            _ = self.machine.takeActions()
            self.lines += self.machine.takeEvents()
        }

        var uncertain: [Bool] {
            self.lines.compactMap { if case .uncertain(_, let again) = $0 { again } else { nil } }
        }
        var deadLetters: Int {
            self.lines.count { if case .deadLetter = $0 { true } else { false } }
        }
    }

    @Test func `a notification at an upstream is not a dead letter while its answer may come`() {
        let scene = Scene()
        scene.push(1...4)
        #expect(scene.sent.count == 4)
        scene.machine.abandon()
        scene.collect()
        #expect(scene.deadLetters == 0)
        scene.answer(scene.sent[0], .accepted(.confirmed))
        scene.answer(scene.sent[1], .uncertain(.shutDown))
        scene.answer(scene.sent[2], .undelivered(.shutDown))
        #expect(scene.uncertain == [false])
        // One has no outcome, and another did not go out.
        #expect(!scene.machine.giveUpUnanswered())
        scene.collect()
        #expect(scene.deadLetters == 2 && scene.machine.jobCount == 0)
        #expect(scene.machine.counts.accepted == 1 && scene.machine.counts.unanswered == 0)
    }

    @Test func `if an upstream's notifications are all accepted, no notification is lost`() {
        let scene = Scene()
        scene.push(1...4)
        scene.machine.abandon()
        for tag in scene.sent { scene.answer(tag, .accepted(.confirmed)) }
        #expect(scene.machine.giveUpUnanswered())
        #expect(scene.lines.isEmpty)
    }

    @Test func `a notification that waits for its turn is a dead letter at once, and is not sent`() {
        let scene = Scene()
        scene.push(1...10)
        scene.machine.abandon()
        scene.collect()
        #expect(scene.deadLetters == 6)
        for tag in scene.sent { scene.answer(tag, .accepted(.confirmed)) }
        #expect(!scene.machine.giveUpUnanswered())
        #expect(scene.sent.count == 4 && scene.machine.jobCount == 0 && scene.machine.counts.isConserved)
    }
}
