internal import ArgumentParser

/// A time in seconds, with fractions, as an option says it. Whoever takes it says whether it may be negative.
struct Seconds: ExpressibleByArgument, Equatable {
    /// A day: nothing here takes longer, and no arithmetic with it overflows.
    private static let limit = 86_400.0

    var duration: Duration

    init(_ duration: Duration) {
        self.duration = duration
    }

    init?(argument: String) {
        guard let seconds = Double(argument), -Self.limit...Self.limit ~= seconds else { return nil }
        self.duration = .seconds(seconds)
    }

    var defaultValueDescription: String { "\(self.duration / .seconds(1))" }
}
