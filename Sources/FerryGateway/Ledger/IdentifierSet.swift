/// The identifiers of one connection. They show which identifiers name a single notification.
///
/// Most clients count, so a few ranges hold all identifiers. Some count in the byte order of their processor, so that
/// only the identifiers with reversed bytes make a few ranges. Random identifiers need too many ranges in both forms. A
/// unique identifier may then count as repeated, but a repeated one never counts as unique. Only a certain repeat sets
/// ``hasRepeated``.
struct IdentifierSet: Sendable {
    /// The identifiers with their bytes reversed.
    private enum Reversed {
        /// The identifiers themselves have few ranges.
        case unneeded
        case kept(IdentifierRanges)
        /// There were too many identifiers to reverse when the reversed ones were first needed.
        case unknown
    }

    /// The largest number of identifiers that are reversed after they were inserted.
    private static let reversible = 4096

    private var numbers = IdentifierRanges()
    private var reversed = Reversed.unneeded
    private var repeated: Set<UInt32> = []
    private var isOverfull = false
    /// Whether an identifier certainly came twice, for two notifications.
    private(set) var hasRepeated = false

    /// Whether two different identifiers came, so that the client numbers its notifications.
    var hasSeveral: Bool { self.numbers.ranges.count > 1 || (self.numbers.ranges.first?.count ?? 0) > 1 }

    /// Whether only one notification so far has this identifier. The caller knows that a notification has the
    /// identifier. The result is also false if the set cannot tell a unique identifier from a repeated one.
    func isUnique(_ identifier: UInt32) -> Bool { !self.isOverfull && !self.repeated.contains(identifier) }

    /// - Parameter isCopy: whether the notification came before with this identifier. Such a repeat does not set
    ///   ``hasRepeated``.
    mutating func insert(_ identifier: UInt32, isCopy: Bool = false) {
        if case .unneeded = self.reversed, self.numbers.isFull { self.reverse() }
        var wasSeen = self.numbers.insert(identifier)
        var isCertain = self.numbers.isExact
        if case .kept(var ranges) = self.reversed {
            // An identifier was never seen if one of the two sets lacks it.
            wasSeen = ranges.insert(identifier.byteSwapped) && wasSeen
            if ranges.isExact { isCertain = true }
            self.reversed = .kept(ranges)
        }
        guard wasSeen else { return }
        if isCertain, !isCopy { self.hasRepeated = true }
        self.noteRepeated(identifier)
    }

    /// Makes the set of reversed identifiers. Call this function before a join over a gap adds other numbers.
    private mutating func reverse() {
        guard self.numbers.ranges.reduce(0, { $0 + $1.count }) <= Self.reversible else {
            self.reversed = .unknown
            return
        }
        var ranges = IdentifierRanges()
        for range in self.numbers.ranges { for number in range { _ = ranges.insert(number.byteSwapped) } }
        self.reversed = .kept(ranges)
    }

    private mutating func noteRepeated(_ identifier: UInt32) {
        self.repeated.insert(identifier)
        guard self.repeated.count > GatewayBounds.repeatedIdentifiers else { return }
        self.isOverfull = true
        self.repeated = []
    }
}
