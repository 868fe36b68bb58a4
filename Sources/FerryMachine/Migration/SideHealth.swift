package import FerryCore
package import NIOCore

/// Whether one side of a migration can deliver.
///
/// ```
///           work waits, no usable connection        for downAfter, or an error says it
///   working ──────────────────────────────▶ failing ──────────────────────────────▶ down ◀────┐
///      ▲  ▲          an answer, or usable      │                                    │  │      │ error, or no usable
///      │  └──────────for downAfter─────────────┘                            trial is due      │ connection for downAfter
///      │                                                                            ▼  │      │
///      └──────────────────────────── an answer ───────────────────────────────── trying ─┴────┘
/// ```
package struct SideHealth {
    /// A side with work and without a usable connection.
    package struct Failing {
        var since: NIODeadline
        /// Since when there is a usable connection again. One that opens and closes at once changes nothing.
        var usableSince: NIODeadline?
    }

    private enum State {
        case working
        case failing(Failing)
        case down(trialAt: NIODeadline)
        /// One group of devices tries the side.
        case trying(group: Int, until: NIODeadline, Failing?)
    }

    /// What a look at the side has shown.
    package enum Change {
        case down
        /// The trial has failed.
        case stillDown
        case up
    }

    /// What the side shows at a look.
    package struct Signs {
        package var isUsable: Bool
        package var hasWork: Bool
        /// The number of notifications that its peer has accepted, or rejected for their own sake.
        package var answered: Int

        package init(isUsable: Bool, hasWork: Bool, answered: Int) {
            self.isUsable = isUsable
            self.hasWork = hasWork
            self.answered = answered
        }
    }

    private let downAfter: TimeAmount
    private let trialInterval: TimeAmount
    private var state = State.working
    /// The number of answers at the last look.
    private var answered = 0

    package init(_ fallback: MigrationOptions.Fallback) {
        self.downAfter = max(TimeAmount(fallback.downAfter), .nanoseconds(1))
        self.trialInterval = max(TimeAmount(fallback.trialInterval), .milliseconds(1))
    }

    package var isDown: Bool {
        switch self.state {
        case .down, .trying: true
        case .working, .failing: false
        }
    }

    /// The group that tries the side; nil if none does.
    package var trialGroup: Int? {
        if case .trying(let group, _, _) = self.state { group } else { nil }
    }

    /// Whether the next notification of a device of the side shall try it.
    package func isTrialDue(now: NIODeadline) -> Bool {
        if case .down(let trialAt) = self.state { trialAt <= now } else { false }
    }

    package mutating func beginTrial(of group: Int, now: NIODeadline) {
        self.state = .trying(group: group, until: now + self.trialInterval, nil)
    }

    /// Notes that the side says itself that it cannot deliver; returns the change.
    package mutating func failed(now: NIODeadline) -> Change? {
        switch self.state {
        case .working, .failing:
            self.state = .down(trialAt: now + self.trialInterval)
            return .down
        case .trying:
            self.state = .down(trialAt: now + self.trialInterval)
            return .stillDown
        case .down:
            return nil
        }
    }

    package mutating func look(_ signs: Signs, now: NIODeadline) -> Change? {
        let hasAnswered = signs.answered != self.answered
        self.answered = signs.answered
        switch self.state {
        case .working:
            if let failing = self.failing(nil, signs, now) { self.state = .failing(failing) }
        case .failing(let failing):
            guard !hasAnswered, let failing = self.failing(failing, signs, now) else {
                self.state = .working
                return nil
            }
            self.state = .failing(failing)
            return self.isOver(failing, now) ? self.failed(now: now) : nil
        case .down:
            // Copies of what may have arrived still wait on the side, and one of them was answered.
            guard hasAnswered else { return nil }
            self.state = .working
            return .up
        case .trying(let group, let until, let failing):
            if hasAnswered {
                self.state = .working
                return .up
            }
            let failing = self.failing(failing, signs, now)
            self.state = .trying(group: group, until: until, failing)
            if let failing, self.isOver(failing, now) { return self.failed(now: now) }
            guard until <= now else { return nil }
            if signs.hasWork { return self.failed(now: now) }
            // The group has sent nothing more. The next device that does tries again.
            self.state = .down(trialAt: now)
            return .stillDown
        }
        return nil
    }

    private func failing(_ failing: Failing?, _ signs: Signs, _ now: NIODeadline) -> Failing? {
        guard signs.hasWork else { return nil }
        guard signs.isUsable else { return Failing(since: failing?.since ?? now, usableSince: nil) }
        guard var failing else { return nil }
        let usableSince = failing.usableSince ?? now
        guard now < usableSince + self.downAfter else { return nil }
        failing.usableSince = usableSince
        return failing
    }

    private func isOver(_ failing: Failing, _ now: NIODeadline) -> Bool {
        failing.usableSince == nil && failing.since + self.downAfter <= now
    }

    /// When the next look is due; nil: not before something happens.
    package var deadline: NIODeadline? {
        switch self.state {
        case .working, .down: nil
        case .failing(let failing): self.deadline(failing)
        case .trying(_, let until, let failing): min(until, failing.map { self.deadline($0) } ?? until)
        }
    }

    private func deadline(_ failing: Failing) -> NIODeadline {
        (failing.usableSince ?? failing.since) + self.downAfter
    }
}
