import FerryCore
import FerryMachine
import NIOCore
import Testing

@Suite struct SubmissionOrderTests {
    private let now = Moment(monotonic: .uptimeNanoseconds(1000), epochSeconds: 0)

    @Test func `each run has a place of its own, also at the same time`() {
        var order = SubmissionOrder()
        let places = (0..<3).map { _ in order.next(now: self.now) }
        #expect(places == [1000, 1001, 1002])
    }

    @Test func `the place is the time of the submission`() throws {
        var order = SubmissionOrder()
        var run = try makeRun(1)
        let placed = try #require(order.placeFirst(of: &run, now: self.now))
        #expect(placed.submitted == self.now.monotonic)
        #expect(order.placeFirst(of: &run, now: self.now) == nil)
    }

    @Test func `no two notifications of a long run share a place and a number`() throws {
        var order = SubmissionOrder()
        let count = 2 * (Int(UInt16.max) + 1) + 1
        var run = try makeRun(count)
        var names: Set<[UInt64]> = []
        while let part = order.placeFirst(of: &run, now: self.now) {
            for index in 0..<part.count { names.insert([part.order, UInt64(part.entries[index].number)]) }
        }
        #expect(names.count == count)
    }

    @Test func `copies of parts keep their place in the order`() throws {
        var order = SubmissionOrder()
        var run = try makeRun(4)
        let placed = try #require(order.placeFirst(of: &run, now: self.now))
        let parts = placed.split(into: 2) { $0.tag < 2 ? 1 : 0 }
        let later = try #require(parts[0])
        let earlier = try #require(parts[1])
        #expect(earlier.precedes(later))
        #expect(!later.precedes(earlier))
    }
}
