internal import FerryMachine
internal import NIOCore

/// The permission to write probes. Each unanswered probe makes the pause before the next one longer.
struct ProbePermission {
    private var backOff: BackOff
    /// When a probe may be written again; nil for now.
    private var again: NIODeadline?

    /// - Parameter pause: the first and the longest pause after an unanswered probe.
    init(pause: ClosedRange<Duration>) {
        self.backOff = BackOff(pause)
    }

    var isGiven: Bool { self.again == nil }

    mutating func answered() { self.backOff.reset() }

    mutating func notAnswered(now: NIODeadline, using generator: inout some RandomNumberGenerator) {
        self.again = now + self.backOff.fail(using: &generator)
    }

    mutating func tick(now: NIODeadline) {
        if let again, now >= again { self.again = nil }
    }
}
