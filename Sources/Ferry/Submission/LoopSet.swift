/// Some of the event loops of a provider, by their number.
struct LoopSet: Equatable, Sendable {
    /// The largest number of loops.
    static let limit = 64

    private var bits: UInt64 = 0

    init() {}

    /// The loops 0 to `count` - 1.
    init(first count: Int) {
        self.bits = count >= Self.limit ? .max : (1 << UInt64(max(count, 0))) - 1
    }

    var isEmpty: Bool { self.bits == 0 }

    func contains(_ index: Int) -> Bool { self.bits & Self.bit(index) != 0 }

    mutating func insert(_ index: Int) { self.bits |= Self.bit(index) }

    mutating func remove(_ index: Int) { self.bits &= ~Self.bit(index) }

    /// Returns the set with one more loop.
    func union(_ index: Int) -> LoopSet {
        var union = self
        union.insert(index)
        return union
    }

    mutating func formUnion(_ other: LoopSet) { self.bits |= other.bits }

    /// Removes the loops of `other`, and returns those of them that were in the set.
    mutating func take(_ other: LoopSet) -> LoopSet {
        var taken = LoopSet()
        taken.bits = self.bits & other.bits
        self.bits &= ~other.bits
        return taken
    }

    /// Calls `body` with the number of each loop.
    func forEach(_ body: (Int) -> Void) {
        var rest = self.bits
        while rest != 0 {
            body(rest.trailingZeroBitCount)
            rest &= rest - 1
        }
    }

    private static func bit(_ index: Int) -> UInt64 {
        assert(0..<self.limit ~= index)
        return 1 << UInt64(index)
    }
}
