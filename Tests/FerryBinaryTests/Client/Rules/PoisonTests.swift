import FerryBinary
import FerryCore
import NIOCore
import Testing

/// A notification on which the peer closes without a response, among others that it takes.
@Suite struct PoisonTests {
    @Test(arguments: 1...4)
    func `one that the peer closes upon is found, however many connections there are`(_ connections: Int) {
        let scenario = Scenario {
            $0.maxConnections = connections
            $0.settleTime = .milliseconds(200)
        }
        let poison: UInt32 = 666
        var open: [ConnectionID] = []
        var next: UInt32 = 1000
        scenario.submit([poison])
        for _ in 0..<400 where scenario[poison] == nil {
            scenario.submit(next...next + 7)
            next += 8
            while !scenario.dials.isEmpty { open.append(scenario.connect(within: .zero)) }
            for id in open where scenario.send(on: id).contains(poison) {
                scenario.end(on: id)
                open.removeAll { $0 == id }
            }
            scenario.pass(.milliseconds(300))
            open.removeAll { scenario.closed.contains($0) }
        }
        let copies = scenario.frames.count { $0.name == poison }
        #expect(scenario[poison] == .uncertain(.peerCloses), "\(copies) copies, \(scenario.resent) sent again")
        #expect(copies < 30)
    }
}
