/// The identifiers that one connection carried, to tell which of them name one notification only.
///
/// Clients count, so that a few ranges hold all identifiers. A client with random identifiers needs many ranges: then
/// the nearest ones are joined, and the identifiers between them count as seen. So an identifier may wrongly count as
/// repeated, and never as unique.
///
/// Cost: constant for a client that counts, otherwise a search in ``GatewayBounds/identifierRanges`` ranges.
struct IdentifierSet: Sendable {
    /// Disjoint, ascending, and not adjacent.
    private var ranges: [ClosedRange<UInt32>] = []
    private var repeated: Set<UInt32> = []
    private var isOverfull = false

    /// Whether two different identifiers came, so that the client numbers its notifications.
    var hasSeveral: Bool { self.ranges.count > 1 || (self.ranges.first?.count ?? 0) > 1 }

    /// Whether exactly one notification so far has this identifier, provided that one has it at all.
    func isUnique(_ identifier: UInt32) -> Bool { !self.isOverfull && !self.repeated.contains(identifier) }

    mutating func insert(_ identifier: UInt32) {
        // The common case: the client counts upwards.
        if let last = self.ranges.last, last.upperBound < identifier, last.upperBound + 1 == identifier {
            self.ranges[self.ranges.count - 1] = last.lowerBound...identifier
            return
        }
        // The first range that does not end before the identifier.
        let index = self.ranges.firstIndex { $0.upperBound >= identifier } ?? self.ranges.endIndex
        if index < self.ranges.endIndex, self.ranges[index].contains(identifier) {
            self.noteRepeated(identifier)
            return
        }
        self.ranges.insert(identifier...identifier, at: index)
        self.joinWithNext(index)
        if index > 0 { self.joinWithNext(index - 1) }
        if self.ranges.count > GatewayBounds.identifierRanges { self.joinNearest() }
    }

    private mutating func noteRepeated(_ identifier: UInt32) {
        self.repeated.insert(identifier)
        guard self.repeated.count > GatewayBounds.repeatedIdentifiers else { return }
        self.isOverfull = true
        self.repeated = []
    }

    /// Joins a range with the next one if no identifier lies between them.
    private mutating func joinWithNext(_ index: Int) {
        guard index + 1 < self.ranges.count, self.gap(after: index) == 0 else { return }
        self.join(index)
    }

    private mutating func joinNearest() {
        guard let index = (0..<self.ranges.count - 1).min(by: { self.gap(after: $0) < self.gap(after: $1) }) else {
            return
        }
        self.join(index)
    }

    private mutating func join(_ index: Int) {
        let next = self.ranges.remove(at: index + 1)
        self.ranges[index] = self.ranges[index].lowerBound...next.upperBound
    }

    /// The number of identifiers between a range and the next.
    private func gap(after index: Int) -> UInt32 {
        self.ranges[index + 1].lowerBound - self.ranges[index].upperBound - 1
    }
}
