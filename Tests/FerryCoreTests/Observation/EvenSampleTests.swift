import Testing

@testable import FerryCore

@Suite struct EvenSampleTests {
    @Test func `few values are all chosen`() {
        var sample = EvenSample()
        for value in 0..<Int64(EvenSample.limit) { sample.add(value) }
        #expect(sample.values == Array(0..<Int64(EvenSample.limit)))
        #expect(sample.count == EvenSample.limit)
    }

    @Test func `many values are chosen at equal distances`() throws {
        var sample = EvenSample()
        for value in 0..<Int64(100_000) { sample.add(value) }
        #expect(sample.count == 100_000)
        #expect((EvenSample.limit / 2...EvenSample.limit).contains(sample.values.count))
        let distance = try #require(sample.values.dropFirst().first)
        #expect(sample.values == sample.values.indices.map { Int64($0) * distance })
        #expect(sample.values.count == (100_000 + Int(distance) - 1) / Int(distance))
    }

    @Test func `a value that is added many times counts as often as many values`() {
        var (single, together) = (EvenSample(), EvenSample())
        for (value, count) in [(7, 40), (8, 1000), (9, 3), (10, 70_000)] as [(Int64, Int)] {
            for _ in 0..<count { single.add(value) }
            together.add(value, count: count)
        }
        #expect(single == together)
        together.add(11, count: 0)
        #expect(single == together)
    }

    @Test func `two samples share the places by the numbers of their values`() {
        var (few, many) = (EvenSample(), EvenSample())
        few.add(1, count: 1000)
        many.add(2, count: 3000)
        for (first, second) in [(few, many), (many, few)] {
            var sum = first
            sum.add(second)
            #expect(sum.count == 4000)
            #expect(sum.values.count <= EvenSample.limit)
            let share = Double(sum.values.filter { $0 == 1 }.count) / Double(sum.values.count)
            #expect((0.2...0.3).contains(share))
        }
        var same = few
        same.add(EvenSample())
        #expect(same == few)
        same = EvenSample()
        same.add(few)
        #expect(same == few)
    }

    @Test func `a sum of samples takes further values`() {
        var sample = EvenSample()
        sample.add(1, count: 1000)
        var other = EvenSample()
        other.add(2, count: 10)
        sample.add(other)
        for _ in 0..<10_000 { sample.add(3) }
        #expect(sample.count == 11_010)
        #expect(sample.values.count <= EvenSample.limit)
        #expect(sample.values.last == 3)
    }

    @Test func `durations come in the order of their measurement`() {
        var sample = DurationSample()
        sample.add(nanoseconds: 1_500_000)
        sample.add(nanoseconds: 2)
        var other = DurationSample()
        other.add(nanoseconds: 3)
        sample.add(other)
        #expect(sample.durations == [.microseconds(1500), .nanoseconds(2), .nanoseconds(3)])
        #expect(sample.count == 3)
    }
}
