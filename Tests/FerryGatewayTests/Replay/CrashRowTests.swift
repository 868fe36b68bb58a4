import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// What clients send again after a crash, and what they repeat on purpose.
@Suite struct CrashRowTests {
    private static func isCopy(
        _ scenario: FilterScenario,
        _ name: UInt64,
        on connection: UInt64 = 2,
        isOpening: Bool
    ) -> Bool {
        scenario.push(name, on: connection, isOpening: isOpening) != .forward
    }

    /// Pushes all on a new connection; returns how many were swallowed.
    private static func pushAll(
        _ scenario: FilterScenario,
        _ names: some Sequence<UInt64>,
        on connection: UInt64 = 2
    ) -> Int {
        var misses = 0
        var copies = 0
        for name in names {
            if Self.isCopy(scenario, name, on: connection, isOpening: misses < GatewayBounds.crashMisses) {
                copies += 1
            } else {
                misses += 1
            }
        }
        return copies
    }

    @Test func `copies that a client sends from the beginning are all swallowed`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<120, kind: .crash)
        #expect(Self.pushAll(scenario, 30..<120) == 90)
        #expect(scenario.filter.oldestEpisode == nil)
    }

    @Test func `a row of copies that begins with forgotten ones is swallowed except for its first`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 40..<160, kind: .crash)
        #expect(Self.pushAll(scenario, 0..<160) == 119)
    }

    @Test func `the first of a row whose copy was forwarded tells no rejection`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<10, kind: .crash)
        scenario.settle(5, .rejected(.invalidToken))
        #expect(Self.pushAll(scenario, [100, 101, 102, 4, 5]) == 1)
        #expect(scenario.takeUntold() == [JobID(rawValue: 5)])
    }

    @Test func `repeats on purpose behind new ones are delivered`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<60, kind: .crash)
        let names: [UInt64] = [100, 101, 102, 50, 20, 103, 55, 10, 104, 40, 105, 30, 106, 5]
        #expect(Self.pushAll(scenario, names) == 0)
    }

    @Test func `a row lets four places go by, and ends after three others`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<60, kind: .crash)
        #expect(Self.pushAll(scenario, [100, 101, 102]) == 0)
        #expect(!Self.isCopy(scenario, 10, isOpening: false))
        #expect(Self.isCopy(scenario, 14, isOpening: false))
        for name in 200..<202 as Range<UInt64> { #expect(!Self.isCopy(scenario, name, isOpening: false)) }
        #expect(Self.isCopy(scenario, 15, isOpening: false))
        for name in 202..<205 as Range<UInt64> { #expect(!Self.isCopy(scenario, name, isOpening: false)) }
        #expect(!Self.isCopy(scenario, 16, isOpening: false))
    }

    @Test func `a list that is sent every 15 s loses one round`() {
        let scenario = FilterScenario()
        let list = Array(0..<60 as Range<UInt64>)
        _ = scenario.tell(1, list + list + list + list, kind: .crash)
        #expect(Self.pushAll(scenario, list) == 60)
        for connection in 3..<6 as Range<UInt64> {
            scenario.wait(.seconds(15))
            #expect(Self.pushAll(scenario, list, on: connection) == 0)
        }
    }

    @Test func `copies of several connections may come on one`() {
        let scenario = FilterScenario()
        for connection in 0..<4 as Range<UInt64> {
            _ = scenario.tell(1000 + connection, (0..<50).map { 4 * $0 + connection }, kind: .crash)
        }
        #expect(Self.pushAll(scenario, [900, 901, 902]) == 0)
        // The first of each row is forwarded.
        let copies = (0..<200 as Range<UInt64>).count { Self.isCopy(scenario, $0, isOpening: false) }
        #expect(copies == 196)
    }

    @Test func `the episode lives for a minute`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<60, kind: .crash)
        scenario.wait(.seconds(59))
        #expect(Self.pushAll(scenario, 0..<10) == 10)
        let other = FilterScenario()
        _ = other.tell(1, 0..<60, kind: .crash)
        other.wait(.seconds(60))
        #expect(Self.pushAll(other, 0..<10) == 0)
    }

    @Test func `constants are copies of a client that is known to send again only`() {
        for replayClass in [.unknown, .resends(Reach())] as [ReplayClass] {
            let scenario = FilterScenario(replayClass)
            _ = scenario.tell(1, [1], kind: .crash, isConstant: true)
            let admission = scenario.push(1, on: 2, isConstant: true, isOpening: true)
            #expect((admission == .forward) == (replayClass == .unknown))
        }
    }
}
