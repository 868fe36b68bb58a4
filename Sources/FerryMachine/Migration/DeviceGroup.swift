package import FerryCore

/// One of 4,096 groups of devices: those at one position of a ``MigrationRule``. So a change of the share moves whole groups.
package enum DeviceGroup {
    package static let count = MigrationRule.positions

    @inline(__always)
    package static func of(_ entry: BatchEntry) -> Int { MigrationRule.position(ofHash: entry.tokenHash) }
}

/// A set of ``DeviceGroup``s.
package struct DeviceGroupSet: Sendable, Equatable {
    private var words = Array(repeating: UInt64(0), count: DeviceGroup.count / 64)
    package private(set) var count = 0

    package init() {}

    /// Creates the set of the groups in `range`.
    package init(_ range: Range<Int>) {
        for group in range { self.insert(group) }
    }

    package var isEmpty: Bool { self.count == 0 }

    package static var all: DeviceGroupSet { DeviceGroupSet(0..<DeviceGroup.count) }

    @inline(__always)
    package func contains(_ group: Int) -> Bool { self.words[group >> 6] >> UInt64(group & 63) & 1 != 0 }

    package mutating func insert(_ group: Int) {
        guard !self.contains(group) else { return }
        self.words[group >> 6] |= 1 << UInt64(group & 63)
        self.count += 1
    }

    package mutating func remove(_ group: Int) {
        guard self.contains(group) else { return }
        self.words[group >> 6] &= ~(1 << UInt64(group & 63))
        self.count -= 1
    }

    package mutating func formUnion(_ other: DeviceGroupSet) {
        for group in other.groups { self.insert(group) }
    }

    /// The groups in ascending order.
    package var groups: [Int] {
        self.words.indices.flatMap { index -> [Int] in
            var (word, groups) = (self.words[index], [Int]())
            while word != 0 {
                groups.append((index << 6) + word.trailingZeroBitCount)
                word &= word - 1
            }
            return groups
        }
    }
}

/// The number of notifications of each group without an outcome, of the groups that wait for it to be 0.
package struct GroupTally {
    private var counts = Array(repeating: Int32(0), count: DeviceGroup.count)
    private var total = 0
    /// The groups whose number became 0 since the owner last took them.
    private var emptied: [Int] = []

    package init() {}

    /// Whether no group has such notifications.
    package var isEmpty: Bool { self.total == 0 }

    package func isEmpty(_ group: Int) -> Bool { self.counts[group] == 0 }

    package mutating func add(_ entry: BatchEntry) {
        self.counts[DeviceGroup.of(entry)] += 1
        self.total += 1
    }

    /// Notes that a notification has its outcome, or left the side. It may have come after the groups were counted: then it
    /// is counted nowhere.
    package mutating func remove(_ entry: BatchEntry) {
        let group = DeviceGroup.of(entry)
        guard self.counts[group] > 0 else { return }
        self.counts[group] -= 1
        self.total -= 1
        if self.counts[group] == 0 { self.emptied.append(group) }
    }

    package mutating func takeEmptied() -> [Int] {
        defer { if !self.emptied.isEmpty { self.emptied = [] } }
        return self.emptied
    }
}
