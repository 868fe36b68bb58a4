import FerryCore
import Testing

@testable import FerryGateway

@Suite struct KnownBadTests {
    private static func key(_ number: UInt8) -> KnownBad.Key { KnownBad.Key(route: 0, token: [number]) }

    @Test func `the oldest token makes room`() {
        var known = KnownBad(limit: 3)
        for number in UInt8(1)...5 { known.insert(Self.key(number), .invalidToken) }
        #expect((UInt8(1)...5).filter { known[Self.key($0)] != nil } == [3, 4, 5])
    }

    @Test func `tokens that come and go take no more room`() {
        var known = KnownBad(limit: 3)
        known.insert(Self.key(0), .invalidToken)
        for _ in 0..<100 {
            known.insert(Self.key(1), .invalidToken)
            known.remove(Self.key(1))
        }
        #expect(known[Self.key(0)] == nil)
        #expect(known.isEmpty)
    }
}
