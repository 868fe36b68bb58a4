internal import Synchronization

/// The memory of one batch: entries of 32 bytes and one arena with all their bytes.
///
/// One owner fills a batch and hands it to a provider in runs of entries. Entries that were handed over belong to the
/// provider. The owner reads only the other entries, so no byte has two users. The last run that is dropped frees the
/// memory, so notifications need no reference counts.
///
/// ```
/// entries  | handed over: the provider's | still the owner's | room |
///                                        ^ PushBatch.start   ^ count
/// ```
package final class BatchStorage: @unchecked Sendable {
    // Unchecked because ownership is by range. A `PushBatch` hands a range of entries over once and never touches it
    // again. After that it moves no memory and only fills the room behind all entries. The provider reads `entries` and
    // `arena`, which then stay as they are, but neither `count` nor `arenaCount`. For the same reason exclusivity needs
    // no check at run time; `append` would pay for six such checks.

    @exclusivity(unchecked) package private(set) var entries: UnsafeMutablePointer<BatchEntry>
    @exclusivity(unchecked) package private(set) var arena: UnsafeMutablePointer<UInt8>
    @exclusivity(unchecked) package private(set) var count = 0
    @exclusivity(unchecked) package private(set) var arenaCount = 0
    @exclusivity(unchecked) private var capacity: Int
    @exclusivity(unchecked) private var arenaCapacity: Int
    /// The number of entries whose bytes are no longer needed, by all providers that took some.
    private let releasedCount = Atomic<Int>(0)
    /// The number of entries, set when the owner has handed over the last one. Until then it is larger than any number
    /// of released entries.
    private let finalCount = Atomic<Int>(.max)

    /// The limit of arena offsets, which are 32 bits wide.
    package static let arenaLimit = Int(UInt32.max)

    /// Creates a storage with room for `capacity` entries and `arenaCapacity` bytes at first.
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

    /// Makes room for one more entry with `bytes` bytes; false if the arena cannot grow that far.
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

    /// Appends an entry. `fill` writes its bytes, which number `bytes`. The caller has reserved the room.
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

    /// Copies the entries in `range` to a new storage, which has room for as many again.
    package func copy(_ range: Range<Int>) -> BatchStorage {
        let bytes = range.reduce(0) { $0 + self.byteCount(at: $1) }
        let copy = BatchStorage(capacity: max(range.count * 2, 16), arenaCapacity: max(bytes * 2, 1024))
        for index in range {
            copy.append(from: self, at: index)
        }
        return copy
    }

    /// The memory in bytes.
    package var byteCapacity: Int { self.capacity * MemoryLayout<BatchEntry>.stride + self.arenaCapacity }

    /// Whether a quarter of the memory would do.
    package var isMostlyRoom: Bool { self.count <= self.capacity / 4 && self.arenaCount <= self.arenaCapacity / 4 }

    /// Copies everything to a new storage, which has no room for more.
    package func tightCopy() -> BatchStorage {
        let copy = BatchStorage(capacity: self.count, arenaCapacity: self.arenaCount)
        copy.entries.initialize(from: self.entries, count: self.count)
        copy.arena.initialize(from: self.arena, count: self.arenaCount)
        copy.count = self.count
        copy.arenaCount = self.arenaCount
        return copy
    }

    /// Appends a copy of the entry at `index` of `other`. The caller has reserved the room.
    package func append(from other: BatchStorage, at index: Int) {
        let bytes = other.byteCount(at: index)
        let entry = other.entries[index]
        self.append(entry, bytes: bytes) { target in
            target.update(from: other.arena + Int(entry.offset), count: bytes)
        }
    }

    /// Notes that the owner has handed over the last entry and will append no more.
    package func seal() {
        self.finalCount.store(self.count, ordering: .releasing)
    }

    /// Notes that `count` more entries no longer need their bytes. When no entry needs its bytes, the arena is freed;
    /// the entries stay. The providers that took the entries call this, never twice for one entry.
    package func releaseBytes(of count: Int) {
        guard count > 0 else { return }
        let released = self.releasedCount.add(count, ordering: .acquiringAndReleasing).newValue
        guard released == self.finalCount.load(ordering: .acquiring) else { return }
        self.arena.deallocate()
        self.arena = .allocate(capacity: 1)
    }

    /// Returns the number of bytes in the arena of the entry at `index`.
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

/// Consecutive entries of one storage. Queues, connections and histories pass runs around instead of notifications.
package struct BatchRun: Sendable {
    package var storage: BatchStorage
    package var start: Int
    package var count: Int
    /// The place of this run in the order of submission. The provider that takes the run sets it.
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

    /// Cuts off and returns the first `count` entries, or all if there are fewer.
    package mutating func takeFirst(_ count: Int) -> BatchRun {
        let count = min(max(count, 0), self.count)
        var head = self
        head.count = count
        self.start += head.count
        self.count -= head.count
        return head
    }
}
