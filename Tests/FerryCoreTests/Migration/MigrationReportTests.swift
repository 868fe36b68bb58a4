import FerryCore
import Testing

@Suite struct MigrationReportTests {
    @Test func `an interval is that of Wilson, and ends at 0 and 1`() throws {
        let half = try #require(MigrationRate(5, of: 10).interval)
        #expect(abs(half.lowerBound - 0.2366) < 0.0001)
        #expect(abs(half.upperBound - 0.7634) < 0.0001)
        #expect(MigrationRate(0, of: 100).interval?.lowerBound == 0)
        #expect(MigrationRate(100, of: 100).interval?.upperBound == 1)
        #expect(MigrationRate(0, of: 0).interval == nil)
        #expect(MigrationRate(7, of: 3).value == 1)
    }

    @Test func `a quantile is the upper bound of its bucket, at most 42 % above`() {
        var histogram = DurationHistogram()
        #expect(histogram.quantile(0.5) == nil)
        for milliseconds in 1...100 { histogram.add(nanoseconds: Int64(milliseconds) * 1_000_000) }
        for (part, milliseconds) in [(0.5, 50.0), (0.99, 99), (1, 100), (0, 1)] {
            let found = histogram.quantile(part).map { $0 / .milliseconds(1) } ?? 0
            #expect(found >= milliseconds && found <= milliseconds * 1.42, "\(part): \(found)")
        }
    }

    @Test(arguments: [Int64.min, -1, 0, 1, Int64.max])
    func `a time of any size has a bucket`(nanoseconds: Int64) {
        var histogram = DurationHistogram()
        histogram.add(nanoseconds: nanoseconds)
        #expect(histogram.count == 1)
    }

    @Test func `a share is a number of positions, and only its ends are none and all`() {
        let thresholds = [-1, 0, 0.001, 50, 99.999, 100, 200, .nan, .infinity].map {
            MigrationRule(share: $0).threshold
        }
        #expect(thresholds == [0, 0, 1, 2048, 4095, 4096, 4096, 0, 4096])
    }

    @Test func `positions are spread evenly, and independent of the choice of a connection`() throws {
        var counts = Array(repeating: 0, count: 4)
        for number in 0..<4096 {
            let token = try DeviceToken((0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * min($0, 7))) })
            guard MigrationRule.position(of: token) < 2048 else { continue }
            let hash = token.bytes.withUnsafeBufferPointer { DeviceToken.stableHash($0) }
            counts[Int(hash % 4)] += 1
        }
        for count in counts { #expect((450...580).contains(count), "\(counts)") }
    }
}
