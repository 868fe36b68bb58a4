import FerryCore
import FerryMachine
import NIOCore
import Testing

@Suite struct RunQueueTests {
    @Test func `notifications come out in order, and runs are cut to the requested size`() throws {
        var queue = RunQueue()
        queue.append(try makeRun(3, order: 1))
        queue.append(try makeRun(2, first: 3, order: 2))
        var taken: [[PushTag]] = []
        while let run = queue.popFirst(atMost: 2) { taken.append(run.tags) }
        #expect(taken == [[0, 1], [2], [3, 4]])
        #expect(queue.isEmpty)
        #expect(queue.byteCount == 0)
    }

    @Test func `a returned notification goes to its place in the order of submission`() throws {
        var queue = RunQueue()
        queue.append(try makeRun(1, first: 10, order: 1))
        queue.append(try makeRun(1, first: 30, order: 3))
        queue.insert(try makeRun(1, first: 20, order: 2))
        queue.insert(try makeRun(1, first: 0, order: 0))
        #expect(queue.removeAll().flatMap(\.tags) == [0, 10, 20, 30])
        #expect(queue.count == 0)
    }

    @Test(arguments: 1...40)
    func `runs that come in any order leave in the order of submission`(count: Int) throws {
        var generator = SplitMix64(seed: UInt64(count))
        var queue = RunQueue()
        for order in (1...UInt64(count)).shuffled(using: &generator) {
            queue.insert(try makeRun(1, first: order, order: order))
        }
        #expect(queue.removeAll().map(\.order) == Array(1...UInt64(count)))
    }

    @Test(arguments: 1...40)
    func `copies of one run that interleave leave in the order of submission`(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var order = SubmissionOrder()
        var run = try makeRun(30)
        let placed = order.placeFirst(of: &run, now: Moment(monotonic: .uptimeNanoseconds(1), epochSeconds: 0))
        let copies = try #require(placed).split(into: 3) { Int($0.tag * seed) % 7 % 3 }
        var queue = RunQueue()
        for copy in copies { if let copy { queue.insert(copy) } }
        var taken: [PushTag] = []
        while let next = queue.popFirst(atMost: 1) {
            taken += next.tags
            guard Int.random(in: 0..<3, using: &generator) == 0, let again = queue.popFirst(atMost: 2) else { continue }
            queue.insert(again)
            _ = queue.remove { _ in false }
        }
        #expect(taken.map(\.rawValue) == Array(0..<30))
    }

    @Test func `a popped notification that was not used goes back to the front`() throws {
        var queue = RunQueue()
        queue.append(try makeRun(4))
        let bytes = queue.byteCount
        let popped = queue.popFirst(atMost: 3)
        var run = try #require(popped)
        _ = run.takeFirst(1)
        queue.prepend(run)
        #expect(queue.count == 3)
        #expect(queue.byteCount == bytes * 3 / 4)
        #expect(queue.removeAll().flatMap(\.tags) == [1, 2, 3])
    }

    @Test func `withdrawn notifications leave, and the others keep their order`() throws {
        var queue = RunQueue()
        queue.append(try makeRun(5))
        let withdrawn = queue.remove { $0.tag == 1 || $0.tag == 4 }
        #expect(withdrawn.map(\.tags) == [[1], [4]])
        #expect(queue.removeAll().flatMap(\.tags) == [0, 2, 3])
    }
}
