internal import FerryMachine
internal import NIOCore

/// Whether a probe may be written: a peer that left one unanswered is asked ever more rarely.
struct ProbePermission {
    private var backOff: BackOff
    /// When it may be again; nil: now.
    private var again: NIODeadline?

    /// - Parameter pause: for how long it may not after a probe that was not answered: the first time, and at most.
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
