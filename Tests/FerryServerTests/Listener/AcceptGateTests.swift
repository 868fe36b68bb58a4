@testable internal import FerryServer
internal import Testing

@Suite struct AcceptGateTests {
    @Test func `as many connections are accepted as may be open`() {
        var gate = AcceptGate(limit: 2)
        #expect(gate.wantsToAccept() == true)
        gate.accepted()
        #expect(gate.wantsToAccept() == true)
        gate.accepted()
        #expect(gate.wantsToAccept() == false)
        #expect(gate.connections == 2)
    }

    @Test func `an accept that had to wait is made good once`() {
        var gate = AcceptGate(limit: 2)
        gate.accepted()
        gate.accepted()
        #expect(gate.wantsToAccept() == false)
        #expect(gate.closed() == .accept)
        #expect(gate.closed() == .none)
    }

    @Test func `an accept for which nobody asked is not made`() {
        var gate = AcceptGate(limit: 1)
        gate.accepted()
        #expect(gate.closed() == .none)
        #expect(gate.wantsToAccept() == true)
    }

    /// Uses the gate like a channel, which asks before the first accept and after each accept.
    @Test func `under any order of connections and ends the limit holds, and nothing waits while there is room`() {
        var random = SystemRandomNumberGenerator()
        for limit in 1...4 {
            var gate = AcceptGate(limit: limit)
            var isAsked = gate.wantsToAccept()
            for _ in 0..<1_000 {
                if isAsked, Bool.random(using: &random) {
                    gate.accepted()
                    isAsked = gate.wantsToAccept()
                } else if gate.connections > 0, gate.closed() == .accept {
                    isAsked = true
                }
                #expect(gate.connections <= limit)
                #expect(isAsked == (gate.connections < limit))
            }
        }
    }
}
