internal import DequeModule
internal import NIOCore

/// The table of the letters in the store, without I/O. It bounds their number, their size and their age. Only the store
/// has the letters themselves.
///
/// Above a bound, the oldest letters are removed and counted.
package struct LetterShelf: Sendable {
    /// The largest number of letters.
    package static let limit = 100_000
    /// The largest size of all letters in bytes.
    package static let lengthLimit = 256 << 20
    /// How long a letter stays, in seconds.
    package static let lifetime: UInt32 = 30 * 86_400
    /// The time between two sweeps for letters that are too old.
    static let sweep: TimeAmount = .hours(1)
    /// The largest number of letters that one sweep removes. If more are too old, the next sweep follows after 100 ms.
    /// So no turn of the event loop is long.
    static let sweepCount = 1000

    /// The figures for operators.
    package struct Figures: Hashable, Codable, Sendable {
        /// The number of letters in the store.
        package var count = 0
        /// The size of the letters in the store, in bytes.
        package var bytes = 0
        /// The number of letters that were removed since the start because all letters together were too many or too
        /// large.
        package var dropped = 0
        /// The number of letters that were removed since the start because they were too old.
        package var outdated = 0
    }

    private struct Entry {
        var endedAt: UInt32
        var length: Int
    }

    private let limit: Int
    private var entries: [JobID: Entry] = [:]
    /// The letters in the order of their ends, including removed letters. If the clock ran ahead when a letter ended,
    /// the letter stands behind the others. At the front, this letter would stop every sweep before the letters
    /// behind it.
    private var order: Deque<(key: [UInt8], endedAt: UInt32)> = []
    private(set) var figures = Figures()
    private var isSorted = true
    private var sweepAt = NIODeadline.distantPast

    /// - Parameter limit: the largest number of letters. A test has a lower one.
    package init(limit: Int = Self.limit) { self.limit = limit }

    func has(_ id: JobID) -> Bool { self.entries[id] != nil }

    // MARK: Changes

    /// Takes a letter that an earlier process left.
    mutating func restore(_ key: [UInt8], endedAt: UInt32, length: Int) {
        self.insert(key, endedAt: endedAt, length: length)
        self.isSorted = false
    }

    /// Sorts the letters after ``restore(_:endedAt:length:)``, because the rows came in the order of their keys.
    private mutating func sort() {
        guard !self.isSorted else { return }
        self.isSorted = true
        self.order = Deque(self.order.sorted { $0.endedAt < $1.endedAt })
    }

    /// Adds a letter. Returns the changes of rows: the new letter, and the oldest letters that are removed to make
    /// room.
    mutating func add(_ letter: Letter) -> [StoreChange] {
        self.sort()
        let change = letter.change
        self.insert(change.key, endedAt: letter.endedAt, length: change.key.count + (change.value?.count ?? 0))
        var changes = [change]
        while self.figures.count > self.limit || self.figures.bytes > Self.lengthLimit,
            let key = self.popOldest()
        {
            self.figures.dropped += 1
            changes.append(StoreChange(.letters, key: key, value: nil))
        }
        return changes
    }

    /// Removes a letter. Returns false if the table does not have the letter.
    mutating func remove(_ id: JobID) -> Bool {
        guard let entry = self.entries.removeValue(forKey: id) else { return false }
        self.figures.count -= 1
        self.figures.bytes -= entry.length
        // Without this removal, ``order`` would grow with each letter that is sent again and ends again.
        if self.order.count > 2 * self.entries.count + 64 {
            self.order.removeAll { self.entries[Letter.job(ofKey: $0.key)]?.endedAt != $0.endedAt }
        }
        return true
    }

    private mutating func insert(_ key: [UInt8], endedAt: UInt32, length: Int) {
        let old = self.entries.updateValue(Entry(endedAt: endedAt, length: length), forKey: Letter.job(ofKey: key))
        self.figures.bytes += length - (old?.length ?? 0)
        if old == nil { self.figures.count += 1 }
        self.order.insert((key, endedAt), at: self.isSorted ? self.place(ofEnd: endedAt) : self.order.count)
    }

    /// The place in the order behind all letters that ended at this time or earlier. Usually it is the end.
    private func place(ofEnd endedAt: UInt32) -> Int {
        var (low, high) = (0, self.order.count)
        while low < high {
            let middle = (low + high) / 2
            if self.order[middle].endedAt <= endedAt { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Removes the oldest letter, and returns its key.
    private mutating func popOldest() -> [UInt8]? {
        while let first = self.order.popFirst() {
            let id = Letter.job(ofKey: first.key)
            guard let entry = self.entries[id], entry.endedAt == first.endedAt else { continue }
            _ = self.remove(id)
            return first.key
        }
        return nil
    }

    // MARK: Time

    /// When to call ``timePassed(now:seconds:)``; nil if there is no letter.
    var nextDeadline: NIODeadline? { self.entries.isEmpty ? nil : self.sweepAt }

    /// Removes letters that are too old. Returns the changes of rows.
    mutating func timePassed(now: NIODeadline, seconds: UInt32) -> [StoreChange] {
        guard self.sweepAt <= now else { return [] }
        self.sort()
        self.sweepAt = now + Self.sweep
        var changes: [StoreChange] = []
        // If the clock was set back, a letter's end may lie in the future. Such a letter is not too old.
        while let first = self.order.first, first.endedAt < seconds, seconds - first.endedAt > Self.lifetime {
            guard changes.count < Self.sweepCount else {
                self.sweepAt = now + .milliseconds(100)
                break
            }
            guard self.entries[Letter.job(ofKey: first.key)]?.endedAt == first.endedAt else {
                self.order.removeFirst()
                continue
            }
            guard let key = self.popOldest() else { break }
            self.figures.outdated += 1
            changes.append(StoreChange(.letters, key: key, value: nil))
        }
        return changes
    }
}
