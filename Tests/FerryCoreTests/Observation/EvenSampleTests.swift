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

    @Test(arguments: [10_000, 1_000_000])
    func `a sample that grows by one value at a time is as one that got all values itself`(count: Int) {
        var one = EvenSample()
        one.add(7)
        var (sum, all) = (EvenSample(), EvenSample())
        for _ in 0..<count { sum.add(one) }
        all.add(7, count: count)
        #expect(sum == all)
    }

    @Test func `the values of many small samples are chosen at equal distances`() throws {
        var sum = EvenSample()
        var value: Int64 = 0
        while value < 100_000 {
            var part = EvenSample()
            for _ in 0..<(1 + value % 5) {
                part.add(value)
                value += 1
            }
            sum.add(part)
        }
        #expect(sum.count == Int(value))
        #expect((EvenSample.limit / 2...EvenSample.limit).contains(sum.values.count))
        let distance = try #require(sum.values.dropFirst().first)
        #expect(sum.values == sum.values.indices.map { Int64($0) * distance })
    }

    @Test func `a large sample leaves a later one its share`() {
        var (sum, part) = (EvenSample(), EvenSample())
        sum.add(1, count: 3_000_000)
        part.add(2, count: 1000)
        for _ in 0..<1000 { sum.add(part) }
        #expect(sum.count == 4_000_000)
        let share = Double(sum.values.filter { $0 == 2 }.count) / Double(sum.values.count)
        #expect((0.22...0.28).contains(share))
    }

    @Test func `numbers beyond the largest one stay at it`() {
        var sample = EvenSample()
        sample.add(1, count: .max - 1)
        var sum = sample
        sum.add(sample)
        sum.add(2, count: .max)
        for _ in 0..<100 { sum.add(sum) }
        sum.add(3)
        #expect(sum.count == .max)
        #expect((EvenSample.limit / 2...EvenSample.limit).contains(sum.values.count))
        #expect(Set(sum.values) == [1])
        var other = EvenSample()
        other.add(4, count: 2)
        other.add(sum)
        #expect(other.count == .max)
        #expect(other.values.first == 4 && other.values.last == 1)
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
