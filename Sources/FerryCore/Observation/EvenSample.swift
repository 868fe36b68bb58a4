/// Values chosen evenly from any number of them: each of the first 64, then every second, every fourth, and so on.
///
/// Adding values costs a few comparisons. The memory is bounded.
package struct EvenSample: Hashable, Sendable {
    /// The largest number of chosen values.
    package static let limit = 64

    /// The chosen values, in the order in which they were added.
    package private(set) var values: [Int64] = []
    /// The number of values that were added.
    package private(set) var count = 0
    /// The number of added values for each chosen one: a power of two.
    private var step = 1

    package init() {}

    /// Adds `count` times the same value.
    package mutating func add(_ value: Int64, count: Int = 1) {
        guard count > 0 else { return }
        let end = self.count + count
        var next = self.chosen(from: self.count)
        while next < end {
            if self.values.count < Self.limit {
                self.values.append(value)
                next += self.step
            } else {
                self.thin()
                next = self.chosen(from: next)
            }
        }
        self.count = end
    }

    /// Adds the values of `other`. Each chosen value then stands for as many values as any other.
    package mutating func add(_ other: EvenSample) {
        guard other.count > 0 else { return }
        guard self.count > 0 else {
            self = other
            return
        }
        var other = other
        while self.step < other.step { self.thin() }
        while other.step < self.step { other.thin() }
        self.values += other.values
        self.count += other.count
        while self.values.count > Self.limit { self.thin() }
    }

    /// Replaces each chosen value.
    package mutating func change(_ change: (Int64) -> Int64) {
        for place in self.values.indices { self.values[place] = change(self.values[place]) }
    }

    /// The first place from `place` on whose value is chosen.
    private func chosen(from place: Int) -> Int { (place + self.step - 1) & ~(self.step - 1) }

    /// Drops every second of the chosen values.
    private mutating func thin() {
        let kept = (self.values.count + 1) / 2
        for place in 0..<kept { self.values[place] = self.values[2 * place] }
        self.values.removeLast(self.values.count - kept)
        self.step *= 2
    }
}
