import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// The clocks of the filter stand still while a full window stops the reading.
@Suite struct FilterClockTests {
    @Test func `the last followers may come long before the others, if those wait for the gateway`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<2000)
        #expect(scenario.pushAll(1500..<2000, on: 2) == 0)
        scenario.reads(2, false)
        scenario.wait(.seconds(5))
        scenario.reads(2, true)
        #expect(scenario.pushAll(0..<1500, on: 2) == 0)
    }

    @Test func `an episode does not end while followers wait for the gateway`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<20)
        scenario.wait(.seconds(50))
        scenario.reads(2, false)
        scenario.reads(3, false)
        scenario.wait(.seconds(7))
        scenario.reads(2, true)
        #expect(scenario.filter.nextDeadline == nil)
        scenario.wait(.seconds(7))
        scenario.reads(3, true)
        scenario.wait(.seconds(9))
        #expect(scenario.pushAll(0..<19, on: 2) == 0)
        scenario.wait(.seconds(21))
        #expect(scenario.pushAll([19], on: 2) == 1)
    }

    @Test func `a connection that is closed stops no clock`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<20)
        scenario.reads(2, false)
        scenario.wait(.seconds(6))
        scenario.close(2)
        scenario.wait(.seconds(61))
        #expect(scenario.filter.oldestEpisode == nil)
    }
}
