@testable internal import FerryServer
internal import Testing

@Suite struct AcceptGateTests {
    @Test func `as many connections are served as may be open, and one more is held`() {
        var gate = AcceptGate(limit: 2)
        for _ in 0..<2 {
            #expect(gate.wantsToAccept() == true)
            #expect(gate.accepted() == .served)
        }
        #expect(gate.wantsToAccept() == true)
        #expect(gate.accepted() == .held)
        #expect(gate.wantsToAccept() == false)
        #expect(gate.connections == 2)
    }

    @Test func `a connection that is held is served, and an accept that had to wait is made good, once`() {
        var gate = AcceptGate(limit: 1)
        _ = gate.accepted()
        _ = gate.accepted()
        #expect(gate.wantsToAccept() == false)
        #expect(gate.closed() == .serveHeld(accepts: true))
        #expect(gate.connections == 1)
        #expect(gate.closed() == .none)
        #expect(gate.connections == 0)
    }

    @Test func `a connection that is held and leaves makes an accept good`() {
        var gate = AcceptGate(limit: 1)
        _ = gate.accepted()
        _ = gate.accepted()
        #expect(gate.wantsToAccept() == false)
        #expect(gate.heldLeft() == true)
        #expect(gate.connections == 1)
        #expect(gate.wantsToAccept() == true)
    }

    @Test func `an accept for which nobody asked is not made`() {
        var gate = AcceptGate(limit: 1)
        _ = gate.accepted()
        _ = gate.accepted()
        #expect(gate.closed() == .serveHeld(accepts: false))
        #expect(gate.wantsToAccept() == true)
        _ = gate.accepted()
        #expect(gate.heldLeft() == false)
    }

    /// Uses the gate like a channel, which asks before the first accept and after each accept.
    @Test func `under any order of connections and ends the limit holds, and nothing waits while there is room`() {
        var random = SystemRandomNumberGenerator()
        for limit in 1...4 {
            var gate = AcceptGate(limit: limit)
            var isAsked = gate.wantsToAccept()
            var isHeld = false
            for _ in 0..<1_000 {
                if isAsked, Bool.random(using: &random) {
                    isHeld = gate.accepted() == .held
                    isAsked = gate.wantsToAccept()
                } else if isHeld, Bool.random(using: &random) {
                    isHeld = false
                    isAsked = gate.heldLeft()
                } else if gate.connections > 0, case .serveHeld(let accepts) = gate.closed() {
                    #expect(isHeld)
                    isHeld = false
                    isAsked = accepts
                }
                #expect(gate.connections <= limit)
                #expect(!isHeld || gate.connections == limit)
                #expect(isAsked == !isHeld)
            }
        }
    }
}
