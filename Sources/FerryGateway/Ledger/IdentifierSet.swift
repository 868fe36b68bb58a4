/// The identifiers that one connection carried, to tell which of them name one notification only.
///
/// Clients count, so that a few ranges hold all identifiers. Some count in the byte order of their processor: then the
/// reversed bytes count. A client with random identifiers needs too many ranges of both: an identifier may wrongly count
/// as repeated, and never as unique. Only a certain repeat says something about the client.
struct IdentifierSet: Sendable {
    /// The identifiers with their bytes reversed.
    private enum Reversed {
        /// The identifiers themselves have few ranges.
        case unneeded
        case kept(IdentifierRanges)
        /// There were too many identifiers when they were needed first.
        case unknown
    }

    /// The most identifiers that are reversed afterwards.
    private static let reversible = 4096

    private var numbers = IdentifierRanges()
    private var reversed = Reversed.unneeded
    private var repeated: Set<UInt32> = []
    private var isOverfull = false
    /// Whether an identifier certainly came twice.
    private(set) var hasRepeated = false

    /// Whether two different identifiers came, so that the client numbers its notifications.
    var hasSeveral: Bool { self.numbers.ranges.count > 1 || (self.numbers.ranges.first?.count ?? 0) > 1 }

    /// Whether exactly one notification so far has this identifier, provided that one has it at all.
    func isUnique(_ identifier: UInt32) -> Bool { !self.isOverfull && !self.repeated.contains(identifier) }

    mutating func insert(_ identifier: UInt32) {
        if case .unneeded = self.reversed, self.numbers.isFull { self.reverse() }
        var wasSeen = self.numbers.insert(identifier)
        var isCertain = self.numbers.isExact
        if case .kept(var ranges) = self.reversed {
            // An identifier that either of them has not was never seen.
            wasSeen = ranges.insert(identifier.byteSwapped) && wasSeen
            if ranges.isExact { isCertain = true }
            self.reversed = .kept(ranges)
        }
        guard wasSeen else { return }
        if isCertain { self.hasRepeated = true }
        self.noteRepeated(identifier)
    }

    /// Reverses what there is, before ranges are joined.
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
