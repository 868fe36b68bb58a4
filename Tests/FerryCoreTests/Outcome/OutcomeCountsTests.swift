import FerryCore
import Testing

@Suite struct OutcomeCountsTests {
    @Test func `Each outcome is counted in its own place, and all of them as settled`() {
        var counts = OutcomeCounts()
        counts.add(.accepted(.confirmed))
        counts.add(.accepted(.presumed), count: 2)
        counts.add(.rejected(Rejection(reason: .badDeviceToken, origin: .gateway, status: 8)), count: 3)
        counts.add(.expired, count: 4)
        counts.add(.undelivered(.evicted), count: 5)
        counts.add(.uncertain(.positionUnknown), count: 6)
        #expect((counts.confirmed, counts.presumed, counts.rejected) == (1, 2, 3))
        #expect((counts.expired, counts.undelivered, counts.uncertain) == (4, 5, 6))
        #expect(counts.accepted == 3)
        #expect(counts.settled == 21)
    }
}
