internal import HeapModule
internal import NIOCore

/// The notifications whose next attempt is due later, up to a limit.
struct DelayQueue {
    private struct Delayed: Comparable {
        var due: NIODeadline
        /// The order of arrival, for attempts with the same due time.
        var number: UInt64
        var attempt: Attempt

        static func == (left: Delayed, right: Delayed) -> Bool { left.number == right.number }

        static func < (left: Delayed, right: Delayed) -> Bool {
            (left.due, left.number) < (right.due, right.number)
        }
    }

    private let limit: Int
    private var heap = Heap<Delayed>()
    private var lastNumber: UInt64 = 0

    init(limit: Int) {
        self.limit = max(limit, 0)
    }

    var count: Int { self.heap.count }

    var isFull: Bool { self.heap.count >= self.limit }

    /// When the first attempt is due.
    var firstDue: NIODeadline? { self.heap.min?.due }

    mutating func insert(_ attempt: Attempt, due: NIODeadline) {
        self.lastNumber += 1
        self.heap.insert(Delayed(due: due, number: self.lastNumber, attempt: attempt))
    }

    /// Removes and returns the first attempt, if it is due.
    mutating func popFirst(dueBy now: NIODeadline) -> Attempt? {
        guard let first = self.heap.min, first.due <= now else { return nil }
        return self.heap.popMin()?.attempt
    }

    func forEach(_ body: (Attempt) -> Void) {
        for delayed in self.heap.unordered { body(delayed.attempt) }
    }

    /// Removes and returns the attempts for which `isTaken` is true. O(count).
    mutating func remove(where isTaken: (Attempt) -> Bool) -> [Attempt] {
        var taken: [Attempt] = []
        var kept: [Delayed] = []
        for delayed in self.heap.unordered {
            if isTaken(delayed.attempt) { taken.append(delayed.attempt) } else { kept.append(delayed) }
        }
        if !taken.isEmpty { self.heap = Heap(kept) }
        return taken
    }
}
