import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

@Suite struct TopicGateTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    /// A gate whose verbs an expectation may call.
    private final class Held {
        private var gate = TopicGate()
        var isWarm: Bool { self.gate.isWarm }
        func admits(now: NIODeadline) -> Bool { self.gate.admits(now: now) }
        func accepted() { self.gate.accepted(now: 1_700_000_000) }
        func refusedToken(now: NIODeadline) -> Bool { self.gate.refusedToken(now: now) }
        var reason: Reason? { self.gate.reason }
        func blocked(_ reason: Reason? = .topicDisallowed, now: NIODeadline) -> Bool {
            self.gate.blocked(reason, now: now)
        }
    }

    @Test func `a gate is cold until something is accepted`() {
        let gate = Held()
        #expect(!gate.isWarm)
        #expect(gate.admits(now: self.start))
        gate.accepted()
        #expect(gate.isWarm)
    }

    @Test func `many refused tokens without an acceptance shut it, and one a second tries`() {
        let gate = Held()
        for number in 1...TopicGate.patience {
            #expect(gate.refusedToken(now: self.start) == (number == TopicGate.patience))
        }
        #expect(!gate.admits(now: self.start))
        #expect(gate.admits(now: self.start + .seconds(1)))
        #expect(!gate.admits(now: self.start + .seconds(1)))
        #expect(gate.admits(now: self.start + .seconds(2)))
        gate.accepted()
        #expect(gate.admits(now: self.start + .seconds(2)))
    }

    @Test func `refused tokens do not shut a warm gate`() {
        let gate = Held()
        gate.accepted()
        for _ in 0..<100 { #expect(!gate.refusedToken(now: self.start)) }
        #expect(gate.admits(now: self.start))
    }

    @Test func `a refusal of topic or credentials shuts a warm gate, once`() {
        let gate = Held()
        gate.accepted()
        #expect(gate.blocked(now: self.start))
        #expect(!gate.blocked(now: self.start))
        #expect(!gate.admits(now: self.start))
    }

    @Test func `a shut gate names the last refusal, and an open one none`() {
        let gate = Held()
        for _ in 1...TopicGate.patience { _ = gate.refusedToken(now: self.start) }
        #expect(gate.reason == .badDeviceToken)
        #expect(!gate.blocked(.invalidProviderToken, now: self.start))
        #expect(gate.reason == .invalidProviderToken)
        // The next try is not delayed.
        #expect(gate.admits(now: self.start + TopicGate.pause))
        #expect(gate.reason == .invalidProviderToken)
        gate.accepted()
        #expect(gate.reason == nil)
    }
}
