internal import Synchronization

/// The memory of one batch: entries of 32 bytes and one arena with all their bytes.
///
/// A batch is filled by one owner and is then handed, in runs of entries, to a provider. Entries that were handed
/// over belong to the provider; the owner reads only those that were not, so no byte has two users. The last run that is
/// dropped frees the memory: nothing is counted for each notification.
///
/// ```
/// entries  | handed over: the provider's | still the owner's | room |
///                                        ^ PushBatch.start   ^ count
/// ```
package final class BatchStorage: @unchecked Sendable {
    // Unchecked because ownership is by range: a `PushBatch` hands a range of entries over once and never touches it
    // again. Once it has, it moves no memory any more and only fills what room is left behind every entry: the provider
    // reads `entries` and `arena`, which then stay as they are, but neither `count` nor `arenaCount`. For the same
    // reason exclusivity needs no check at run time, which `append` would pay for six times.

    @exclusivity(unchecked) package private(set) var entries: UnsafeMutablePointer<BatchEntry>
    @exclusivity(unchecked) package private(set) var arena: UnsafeMutablePointer<UInt8>
    @exclusivity(unchecked) package private(set) var count = 0
    @exclusivity(unchecked) package private(set) var arenaCount = 0
    @exclusivity(unchecked) private var capacity: Int
    @exclusivity(unchecked) private var arenaCapacity: Int
    /// How many entries need no bytes any more, by all providers that took some.
    private let releasedCount = Atomic<Int>(0)
    /// How many entries there are, once the owner has handed over the last; until then more than can be released.
    private let finalCount = Atomic<Int>(.max)

    /// An arena offset is 32 bits wide.
    package static let arenaLimit = Int(UInt32.max)

    /// Room for `capacity` entries with `arenaCapacity` bytes at first.
    package init(capacity: Int, arenaCapacity: Int) {
        self.capacity = max(capacity, 1)
        self.arenaCapacity = min(max(arenaCapacity, 64), Self.arenaLimit)
        self.entries = .allocate(capacity: self.capacity)
        self.arena = .allocate(capacity: self.arenaCapacity)
    }

    deinit {
        self.entries.deallocate()
        self.arena.deallocate()
    }

    /// Whether one more entry with `bytes` bytes fits without moving memory.
    package func hasRoom(bytes: Int) -> Bool {
        self.count < self.capacity && bytes <= self.arenaCapacity - self.arenaCount
    }

    /// Makes room for one more entry with `bytes` bytes; false when the arena cannot grow that far.
    package func reserve(bytes: Int) -> Bool {
        let needed = self.arenaCount + bytes
        guard needed <= Self.arenaLimit else { return false }
        if self.count == self.capacity {
            self.grow(entries: self.capacity * 2)
        }
        if needed > self.arenaCapacity {
            self.grow(arena: min(max(self.arenaCapacity * 2, needed), Self.arenaLimit))
        }
        return true
    }

    /// Appends an entry whose bytes, `bytes` many, `fill` writes. The room was reserved.
    @inline(__always)
    package func append(_ entry: BatchEntry, bytes: Int, fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        assert(self.hasRoom(bytes: bytes))
        var entry = entry
        entry.offset = UInt32(truncatingIfNeeded: self.arenaCount)
        fill(self.arena + self.arenaCount)
        (self.entries + self.count).initialize(to: entry)
        self.arenaCount += bytes
        self.count += 1
    }

    /// A copy of the entries in `range` in a storage of their own, with room for as many again.
    package func copy(_ range: Range<Int>) -> BatchStorage {
        let bytes = range.reduce(0) { $0 + self.byteCount(at: $1) }
        let copy = BatchStorage(capacity: max(range.count * 2, 16), arenaCapacity: max(bytes * 2, 1024))
        for index in range {
            copy.append(from: self, at: index)
        }
        return copy
    }

    /// Appends a copy of the entry at `index` of `other`. The room was reserved.
    package func append(from other: BatchStorage, at index: Int) {
        let bytes = other.byteCount(at: index)
        let entry = other.entries[index]
        self.append(entry, bytes: bytes) { target in
            target.update(from: other.arena + Int(entry.offset), count: bytes)
        }
    }

    /// Notes that the owner has handed over the last entry and appends none.
    package func seal() {
        self.finalCount.store(self.count, ordering: .releasing)
    }

    /// Notes that `count` more entries no longer need their bytes. When none needs them, the arena is freed; the
    /// entries stay. Called by the providers that took the entries, never twice for one.
    package func releaseBytes(of count: Int) {
        guard count > 0 else { return }
        let released = self.releasedCount.add(count, ordering: .acquiringAndReleasing).newValue
        guard released == self.finalCount.load(ordering: .acquiring) else { return }
        self.arena.deallocate()
        self.arena = .allocate(capacity: 1)
    }

    /// The arena bytes of the entry at `index`.
    package func byteCount(at index: Int) -> Int {
        let entry = self.entries[index]
        return Int(entry.tokenLength) + Int(entry.payloadLength) + Int(entry.topicLength)
            + Int(entry.collapseIDLength) + (entry.fields.hasAPNSID ? 16 : 0)
    }

    private func grow(entries newCapacity: Int) {
        let grown = UnsafeMutablePointer<BatchEntry>.allocate(capacity: newCapacity)
        grown.moveInitialize(from: self.entries, count: self.count)
        self.entries.deallocate()
        self.entries = grown
        self.capacity = newCapacity
    }

    private func grow(arena newCapacity: Int) {
        let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: newCapacity)
        grown.moveInitialize(from: self.arena, count: self.arenaCount)
        self.arena.deallocate()
        self.arena = grown
        self.arenaCapacity = newCapacity
    }
}

/// Consecutive entries of one storage: what queues, connections and histories pass around instead of notifications.
package struct BatchRun: Sendable {
    package var storage: BatchStorage
    package var start: Int
    package var count: Int
    /// The place of this run in the order of submission, given by the provider that takes it.
    package var order: UInt64
    /// Whether its notifications were written before.
    package var isCopy: Bool

    package init(storage: BatchStorage, start: Int, count: Int, order: UInt64 = 0, isCopy: Bool = false) {
        self.storage = storage
        self.start = start
        self.count = count
        self.order = order
        self.isCopy = isCopy
    }

    /// The first of ``count`` entries.
    package var entries: UnsafeMutablePointer<BatchEntry> { self.storage.entries + self.start }

    /// Cuts the first `count` entries off and returns them; all of them when there are fewer.
    package mutating func takeFirst(_ count: Int) -> BatchRun {
        let count = min(max(count, 0), self.count)
        var head = self
        head.count = count
        self.start += head.count
        self.count -= head.count
        return head
    }
}
