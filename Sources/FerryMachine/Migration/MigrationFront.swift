internal import FerryCore
internal import NIOCore

/// The notifications of moving device groups. They wait here until no notification of their group is unsettled on
/// either side. On a side that is down, only written notifications count.
struct MigrationFront {
    /// The place that a notification goes to.
    enum Destination: Equatable {
        case side(ProviderSide)
        /// The front, because the group of the notification moves.
        case front
        /// No destination: the notification's own side cannot send it. The other side cannot send it either, or the
        /// options do not allow the other side.
        case refused(ProviderSide)
    }

    /// The groups that move.
    private(set) var moving = DeviceGroupSet()
    /// The waiting notifications by group. A queue refers to parts of batches, and their bytes are not copied.
    private var queues: [Int: RunQueue] = [:]
    private(set) var count = 0
    /// A time at or before the submission of the oldest waiting notification; nil if no notification waits.
    private(set) var oldest: NIODeadline?

    var isEmpty: Bool { self.count == 0 }

    func isMoving(_ entry: BatchEntry) -> Bool { !self.moving.isEmpty && self.moving.contains(DeviceGroup.of(entry)) }

    /// Makes more groups wait.
    mutating func hold(_ groups: DeviceGroupSet) { self.moving.formUnion(groups) }

    /// Takes notifications of moving groups. Each one joins the queue of its group, in the order of submission.
    mutating func append(_ run: BatchRun) {
        self.count += run.count
        self.oldest = min(self.oldest ?? run.submitted, run.submitted)
        var parts: [(Int, BatchRun)] = []
        run.forEachPart(alike: DeviceGroup.of) { parts.append(($1, $0)) }
        for (group, part) in parts { self.queues[group, default: RunQueue()].insert(part) }
    }

    /// Ends the wait of a group, and returns its notifications in order.
    mutating func release(_ group: Int) -> [BatchRun] {
        self.moving.remove(group)
        var queue = self.queues.removeValue(forKey: group) ?? RunQueue()
        let runs = queue.removeAll()
        self.count -= runs.reduce(0) { $0 + $1.count }
        if self.isEmpty { self.oldest = nil }
        return runs
    }

    /// Removes and returns the notifications that `isMeant` accepts.
    mutating func remove(where isMeant: (BatchEntry) -> Bool) -> [BatchRun] {
        guard !self.isEmpty else { return [] }
        var removed: [BatchRun] = []
        for group in self.queues.keys.sorted() { removed += self.queues[group]?.remove(where: isMeant) ?? [] }
        self.count -= removed.reduce(0) { $0 + $1.count }
        if self.isEmpty { self.oldest = nil }
        return removed
    }

    /// Removes and returns the notifications that were submitted at or before `limit`.
    mutating func removeSubmitted(by limit: NIODeadline) -> [BatchRun] {
        var removed: [BatchRun] = []
        var oldest: NIODeadline?
        for group in self.queues.keys.sorted() {
            while let first = self.queues[group]?.first, first.submitted <= limit,
                let run = self.queues[group]?.popFirst(atMost: first.count)
            {
                removed.append(run)
            }
            if let first = self.queues[group]?.first { oldest = min(oldest ?? first.submitted, first.submitted) }
        }
        self.count -= removed.reduce(0) { $0 + $1.count }
        self.oldest = oldest
        return removed
    }

    func forEach(_ body: (BatchRun) -> Void) {
        for queue in self.queues.values { queue.forEach(body) }
    }
}
