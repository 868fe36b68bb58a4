/// Values chosen evenly from any number of them: each of the first 64, then every second, every fourth, and so on.
///
/// A value is chosen by its place among all values, so that it does not matter whether values come one by one or in
/// samples. Adding values costs a few comparisons. The memory is bounded.
package struct EvenSample: Hashable, Sendable {
    /// The largest number of chosen values.
    package static let limit = 64

    /// The chosen values, in the order in which they were added.
    package private(set) var values: [Int64] = []
    /// The number of values that were added. It stays at `Int.max`, and no further value is chosen then.
    package private(set) var count = 0
    /// The number of added values for each chosen one: a power of two. The chosen places are its multiples. It grows only
    /// as far as ``limit`` places need, so it never exceeds 2^57.
    private var step = 1

    package init() {}

    /// Adds `count` times the same value.
    package mutating func add(_ value: Int64, count: Int = 1) {
        guard count > 0 else { return }
        let end = Self.sum(self.count, count)
        var next = self.chosen(from: self.count)
        while next < end {
            if self.values.count < Self.limit {
                self.values.append(value)
                next = Self.sum(next, self.step)
            } else {
                self.thin()
                next = self.chosen(from: next)
            }
        }
        self.count = end
    }

    /// Adds the values of `other`. Each chosen value then stands for as many values as any other.
    package mutating func add(_ other: EvenSample) {
        guard let last = other.values.last else { return }
        guard self.count > 0 else {
            self = other
            return
        }
        while self.step < other.step { self.thin() }
        for value in other.values.dropLast() { self.add(value, count: other.step) }
        // The last one stands for the rest, which may be fewer than a step.
        self.add(last, count: other.count - (other.values.count - 1) * other.step)
    }

    /// Replaces each chosen value.
    package mutating func change(_ change: (Int64) -> Int64) {
        for place in self.values.indices { self.values[place] = change(self.values[place]) }
    }

    /// The first place from `place` on whose value is chosen; `Int.max` beyond the largest number.
    private func chosen(from place: Int) -> Int {
        let (last, overflows) = place.addingReportingOverflow(self.step - 1)
        return overflows ? .max : last & ~(self.step - 1)
    }

    /// The sum of two numbers that are not negative, at most `Int.max`.
    private static func sum(_ first: Int, _ second: Int) -> Int {
        let (sum, overflows) = first.addingReportingOverflow(second)
        return overflows ? .max : sum
    }

    /// Drops every second of the chosen values.
    private mutating func thin() {
        let kept = (self.values.count + 1) / 2
        for place in 0..<kept { self.values[place] = self.values[2 * place] }
        self.values.removeLast(self.values.count - kept)
        self.step *= 2
    }
}
