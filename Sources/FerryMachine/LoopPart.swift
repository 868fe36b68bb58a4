/// One event loop's part of the bounds of a provider.
package struct LoopPart: Sendable {
    /// The number of the part: 0 to `count` - 1.
    package var index: Int
    /// The number of parts, at least 1.
    package var count: Int

    package init(_ index: Int, of count: Int) {
        self.index = index
        self.count = max(count, 1)
    }

    /// Returns this part of a bound for the whole provider. The parts add up to the bound, and differ by 1 at most.
    package func of(_ bound: Int) -> Int {
        let bound = max(bound, 0)
        return bound / self.count + (self.index < bound % self.count ? 1 : 0)
    }
}
