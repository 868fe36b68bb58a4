internal import ArgumentParser
internal import FerryOptions

/// A time in seconds for an option. Fractions are allowed.
struct Seconds: ExpressibleByArgument, Equatable {
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
        let kind = isZeroGood ? OptionKind.timeLimit : .seconds
        guard kind.value(.number(self.value), in: .commandLine) == nil else { return }
        throw ValidationError("\(option) takes \(kind.wanted(in: .commandLine)).")
    }
}
