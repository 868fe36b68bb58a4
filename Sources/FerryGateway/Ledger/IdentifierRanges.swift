/// A set of numbers, kept as at most ``GatewayBounds/identifierRanges`` ranges. Above this number, the nearest two
/// ranges are joined. The set then also has numbers that were not inserted. The set never lacks an inserted number.
///
/// Cost: constant for numbers that count upwards, otherwise a search in all ranges.
struct IdentifierRanges: Sendable {
    /// The ranges: disjoint, ascending, and not adjacent.
    private(set) var ranges: [ClosedRange<UInt32>] = []
    /// Whether the set has exactly the inserted numbers, because no ranges were joined over a gap.
    private(set) var isExact = true

    var isFull: Bool { self.ranges.count >= GatewayBounds.identifierRanges }

    /// Inserts a number. Returns whether the set already had this number.
    mutating func insert(_ number: UInt32) -> Bool {
        // The common case: the client counts upwards.
        if let last = self.ranges.last, last.upperBound < number, last.upperBound + 1 == number {
            self.ranges[self.ranges.count - 1] = last.lowerBound...number
            return false
        }
        let index = self.ranges.firstIndex { $0.upperBound >= number } ?? self.ranges.endIndex
        if index < self.ranges.endIndex, self.ranges[index].contains(number) { return true }
        self.ranges.insert(number...number, at: index)
        self.joinWithNext(index)
        if index > 0 { self.joinWithNext(index - 1) }
        if self.ranges.count > GatewayBounds.identifierRanges { self.joinNearest() }
        return false
    }

    /// Joins a range with the next one if no number is between them.
    private mutating func joinWithNext(_ index: Int) {
        guard index + 1 < self.ranges.count, self.gap(after: index) == 0 else { return }
        self.join(index)
    }

    private mutating func joinNearest() {
        guard let index = (0..<self.ranges.count - 1).min(by: { self.gap(after: $0) < self.gap(after: $1) }) else {
            return
        }
        self.isExact = false
        self.join(index)
    }

    private mutating func join(_ index: Int) {
        let next = self.ranges.remove(at: index + 1)
        self.ranges[index] = self.ranges[index].lowerBound...next.upperBound
    }

    /// The number of integers between a range and the next one.
    private func gap(after index: Int) -> UInt32 {
        self.ranges[index + 1].lowerBound - self.ranges[index].upperBound - 1
    }
}
