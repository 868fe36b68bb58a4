internal import ArgumentParser

/// A time in seconds, with fractions, as an option says it.
struct Seconds: ExpressibleByArgument, Equatable {
    /// A day: nothing here takes longer, and no arithmetic with it overflows.
    private static let limit = 86_400.0
    /// What `Duration`, and any clock here, tells from nothing.
    private static let smallest = 1e-9

    private var value: Double

    init(_ duration: Duration) {
        self.value = duration / .seconds(1)
    }

    init?(argument: String) {
        guard let value = Double(argument) else { return nil }
        self.value = value
    }

    /// Only after ``validate(_:isZeroGood:)``.
    var duration: Duration { .seconds(self.value) }

    var defaultValueDescription: String { "\(self.value)" }

    /// - Parameter option: its name, for the message.
    func validate(_ option: String, isZeroGood: Bool = false) throws {
        let least = isZeroGood ? 0 : Self.smallest
        guard least...Self.limit ~= self.value else {
            let range = isZeroGood ? "0 to 86400" : "more than 0 and at most 86400"
            throw ValidationError("\(option) takes seconds, \(range).")
        }
    }
}
