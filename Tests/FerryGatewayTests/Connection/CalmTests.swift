import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// When six bytes may be written.
@Suite struct CalmTests {
    @Test(arguments: [.unknown, .resends(Reach(proven: 5000))] as [ReplayClass])
    func `while a full window stops the reading, the silence is the gateway's`(replayClass: ReplayClass) {
        let scenario = GatewayScenario(replayClass)
        let connection = scenario.connect()
        let count = UInt32(GatewayBounds.window) + 9
        scenario.pushAll(0...count, on: connection)
        scenario.reject(0)
        #expect(!scenario.isReading(connection))
        scenario.wait(.milliseconds(1500))
        #expect(scenario.told.isEmpty)
        // It reads again, and has to see what has come meanwhile.
        scenario.accept(1...count)
        #expect(scenario.isReading(connection))
        #expect(scenario.told.isEmpty)
        scenario.wait(.milliseconds(251))
        #expect(scenario.told.isEmpty == (replayClass == .unknown))
        scenario.wait(.milliseconds(1))
        #expect(scenario.told.map(\.identifier) == [0])
    }

    @Test func `the round trip is the one of the handshake if a balancer hides it from TCP`() {
        for handshake: Int64 in [0, 600] {
            let scenario = GatewayScenario()
            scenario.handshake = .milliseconds(handshake)
            _ = GatewayConnectionTests.rejected(scenario)
            scenario.wait(.milliseconds(1449))
            #expect(scenario.told.isEmpty == (handshake > 0))
            scenario.wait(.milliseconds(1))
            #expect(scenario.told.count == 1)
        }
    }
}
