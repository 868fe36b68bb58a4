package import FerryCore

/// One of 4,096 groups of devices. The devices of a group have the same position in a ``MigrationRule``, so a new share
/// moves whole groups.
package enum DeviceGroup {
    package static let count = MigrationRule.positions

    @inline(__always)
    package static func of(_ entry: BatchEntry) -> Int { MigrationRule.position(ofHash: entry.tokenHash) }
}

/// A set of groups, one bit for each ``DeviceGroup``.
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

/// The number of unsettled notifications in each group, for groups that wait until this number is 0.
package struct GroupTally {
    private var counts = Array(repeating: Int32(0), count: DeviceGroup.count)
    private var total = 0
    /// The groups whose number became 0 since ``takeEmptied()`` last returned them.
    private var emptied: [Int] = []

    package init() {}

    /// Whether no group has an unsettled notification.
    package var isEmpty: Bool { self.total == 0 }

    package func isEmpty(_ group: Int) -> Bool { self.counts[group] == 0 }

    package mutating func add(_ entry: BatchEntry) {
        self.counts[DeviceGroup.of(entry)] += 1
        self.total += 1
    }

    /// Notes that a notification has its outcome, or left the side. A notification that came after the groups were
    /// counted is not in the number, and changes nothing.
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
