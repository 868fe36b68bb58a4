/// A part of a number of notifications, and the range in which the true part may lie by chance.
public struct MigrationRate: Sendable, Hashable {
    /// The number of notifications in the part.
    public var count: Int
    /// The number of all notifications.
    public var total: Int

    /// - Parameters:
    ///   - count: the number of notifications in the part, 0 to `total`.
    ///   - total: the number of all notifications.
    public init(_ count: Int, of total: Int) {
        self.total = max(total, 0)
        self.count = min(max(count, 0), self.total)
    }

    /// The part, 0 to 1; 0 without notifications.
    public var value: Double { self.total == 0 ? 0 : Double(self.count) / Double(self.total) }

    /// The bounds, 0 to 1, between which the true rate would lie with 95 % probability if notifications were
    /// independent; nil without notifications. The notifications of one device are not independent, so the true bounds
    /// are wider.
    ///
    /// Source: Wilson, "Probable inference, the law of succession, and statistical inference" (JASA 1927).
    public var interval: ClosedRange<Double>? {
        guard self.total > 0 else { return nil }
        // The 97.5th percentile of the normal distribution.
        let z = 1.959_963_984_540_054
        let n = Double(self.total)
        let centre = self.value + z * z / (2 * n)
        let spread = z * (self.value * (1 - self.value) / n + z * z / (4 * n * n)).squareRoot()
        let scale = 1 + z * z / n
        // At the ends the bounds are 0 and 1 exactly, but for the rounding of the arithmetic.
        let low = self.count == 0 ? 0 : max((centre - spread) / scale, 0)
        let high = self.count == self.total ? 1 : min((centre + spread) / scale, 1)
        return low...high
    }
}
