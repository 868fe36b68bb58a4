import FerryCore
import FerryMachine
import Testing

@Suite struct RunQueueTests {
    @Test("notifications come out in order, cut to the size that is asked for")
    func order() throws {
        var queue = RunQueue()
        queue.append(try makeRun(3, order: 1))
        queue.append(try makeRun(2, first: 3, order: 2))
        var taken: [[PushTag]] = []
        while let run = queue.popFirst(atMost: 2) { taken.append(run.tags) }
        #expect(taken == [[0, 1], [2], [3, 4]])
        #expect(queue.isEmpty)
        #expect(queue.byteCount == 0)
    }

    @Test("what comes back goes to where the order of submission wants it")
    func insertion() throws {
        var queue = RunQueue()
        queue.append(try makeRun(1, first: 10, order: 1))
        queue.append(try makeRun(1, first: 30, order: 3))
        queue.insert(try makeRun(1, first: 20, order: 2))
        queue.insert(try makeRun(1, first: 0, order: 0))
        #expect(queue.removeAll().flatMap(\.tags) == [0, 10, 20, 30])
        #expect(queue.count == 0)
    }

    @Test("runs that come in any order leave in the order of submission", arguments: 1...40)
    func anyOrder(count: Int) throws {
        var generator = SplitMix64(seed: UInt64(count))
        var queue = RunQueue()
        for order in (1...UInt64(count)).shuffled(using: &generator) {
            queue.insert(try makeRun(1, first: order, order: order))
        }
        #expect(queue.removeAll().map(\.order) == Array(1...UInt64(count)))
    }

    @Test("what was popped and not used goes back to the front")
    func prepending() throws {
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

    @Test("withdrawn notifications leave, and the others keep their order")
    func removal() throws {
        var queue = RunQueue()
        queue.append(try makeRun(5))
        let withdrawn = queue.remove { $0.tag == 1 || $0.tag == 4 }
        #expect(withdrawn.map(\.tags) == [[1], [4]])
        #expect(queue.removeAll().flatMap(\.tags) == [0, 2, 3])
    }
}
