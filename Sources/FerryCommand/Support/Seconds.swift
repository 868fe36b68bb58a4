internal import ArgumentParser

/// A time in seconds for an option. Fractions are allowed.
struct Seconds: ExpressibleByArgument, Equatable {
    /// The limit: a day. No command waits longer, and arithmetic with it cannot overflow.
    private static let limit = 86_400.0
    /// The smallest time that `Duration` and the clocks can represent.
    private static let smallest = 1e-9

    private var value: Double

    init(_ duration: Duration) {
        self.value = duration / .seconds(1)
    }

    init?(argument: String) {
        guard let value = Double(argument) else { return nil }
        self.value = value
    }

    /// The time. Valid only after ``validate(_:isZeroGood:)``.
    var duration: Duration { .seconds(self.value) }

    var defaultValueDescription: String { "\(self.value)" }

    /// - Parameter option: the option's name, for the message.
    func validate(_ option: String, isZeroGood: Bool = false) throws {
        let least = isZeroGood ? 0 : Self.smallest
        guard least...Self.limit ~= self.value else {
            let range = isZeroGood ? "0 to 86400" : "more than 0 and at most 86400"
            throw ValidationError("\(option) takes seconds, \(range).")
        }
    }
}
