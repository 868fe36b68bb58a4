package import FerryCore
package import NIOCore

extension BatchRun {
    /// The number of bytes of the run's entries in the arena, where they lie one after the other. O(1).
    package var byteCount: Int {
        guard self.count > 0 else { return 0 }
        let last = self.start + self.count - 1
        return Int(self.storage.entries[last].offset) + self.storage.byteCount(at: last) - Int(self.entries[0].offset)
    }

    /// Returns a part of the run. `range` counts from the run's first entry.
    package func slice(_ range: Range<Int>) -> BatchRun {
        var slice = self
        slice.start += range.lowerBound
        slice.count = range.count
        return slice
    }

    /// Calls `body` with each part of the run whose entries have an equal value, and with that value. Parts are as long
    /// as possible, and come in order.
    package func forEachPart<Value: Equatable>(
        alike value: (BatchEntry) -> Value,
        _ body: (BatchRun, Value) -> Void
    ) {
        var start = 0
        while start < self.count {
            let first = value(self.entries[start])
            let end = (start + 1..<self.count).first { value(self.entries[$0]) != first } ?? self.count
            body(self.slice(start..<end), first)
            start = end
        }
    }

    /// Copies the notifications to `count` new runs. Each run keeps the order of its notifications.
    ///
    /// - Parameter part: returns the number of an entry's run, 0 to `count` - 1.
    /// - Returns: the runs by their number; nil for a run without notifications.
    package func split(into count: Int, by part: (BatchEntry) -> Int) -> [BatchRun?] {
        var sizes = Array(repeating: (count: 0, bytes: 0), count: count)
        for index in 0..<self.count {
            let number = part(self.entries[index])
            sizes[number].count += 1
            sizes[number].bytes += self.storage.byteCount(at: self.start + index)
        }
        let storages = sizes.map { size in
            size.count == 0 ? nil : BatchStorage(capacity: size.count, arenaCapacity: size.bytes)
        }
        for index in 0..<self.count {
            storages[part(self.entries[index])]?.append(from: self.storage, at: self.start + index)
        }
        return storages.map { storage in
            guard let storage else { return nil }
            storage.seal()
            return BatchRun(storage: storage, start: 0, count: storage.count, order: self.order, isCopy: self.isCopy)
        }
    }

    /// Calls `body` with each entry that has no outcome.
    package func forEachUnsettled(_ body: (BatchEntry) -> Void) {
        for index in 0..<self.count where !self.entries[index].marks.isSettled { body(self.entries[index]) }
    }

    /// The time of submission. Runs were submitted in the order of these times.
    package var submitted: NIODeadline { .uptimeNanoseconds(self.order) }

    /// The number of the first notification; 0 for an empty run.
    private var number: UInt16 { self.count > 0 ? self.entries[0].number : 0 }

    /// Returns whether the run was submitted before `other`.
    package func precedes(_ other: BatchRun) -> Bool {
        // The number orders the parts of a run, also after they were copied. The start orders the parts of a run
        // without numbers.
        (self.order, self.number, self.start) < (other.order, other.number, other.start)
    }

    /// The tags that callers chose. Awaited notifications are left out, because their tags are the provider's own.
    package var tags: [PushTag] {
        (0..<self.count).compactMap { index in
            let entry = self.entries[index]
            return entry.fields.isAwaited ? nil : PushTag(entry.tag)
        }
    }

    /// Adds one suspicion to each entry: it is sent again because of an error that named no notification. Call this if
    /// the entries had an outcome, or if the error came after the probe at the end of a run.
    package func suspect() {
        for index in 0..<self.count {
            self.entries[index].marks.suspicions += 1
        }
    }

    /// Notes that a copy of each entry may have arrived.
    package func taint() {
        for index in 0..<self.count {
            self.entries[index].marks.isTainted = true
        }
    }

    /// Notes one more retry of the only notification of the run. Returns false, and notes nothing, after `limit` retries.
    package func retry(atMost limit: Int) -> Bool {
        guard Int(self.entries[0].retries) < min(limit, Int(UInt8.max)) else { return false }
        self.entries[0].retries += 1
        return true
    }
}
