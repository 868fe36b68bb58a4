package import FerryCore
package import NIOCore

/// The ability of one side of a migration to deliver. The drawing has the main transitions. An error also leads from
/// `working` to `down`, and an answer from `down` to `working`. A side without work goes from `failing` to `working`.
/// The end of the trial time leads from `trying` to `down`.
///
/// ```
///           work waits, no usable connection        for downAfter, or an error says it
///   working ──────────────────────────────▶ failing ──────────────────────────────▶ down ◀────┐
///      ▲  ▲          an answer, or usable      │                                    │  │      │ error, or no usable
///      │  └──────────for downAfter─────────────┘                            trial is due      │ connection
///      │                                                                            ▼  │      │ for downAfter
///      └──────────────────────────── an answer ───────────────────────────────── trying ─┴────┘
/// ```
package struct SideHealth {
    /// A side that has work, but no usable connection.
    package struct Failing {
        var since: NIODeadline
        /// The time at which a usable connection appeared again. A connection that closes again before `downAfter` does
        /// not end the failure.
        var usableSince: NIODeadline?
    }

    private enum State {
        case working
        case failing(Failing)
        case down(trialAt: NIODeadline)
        /// One group of devices tries the side.
        case trying(group: Int, until: NIODeadline, Failing?)
    }

    /// The change that ``look(_:now:)`` or ``failed(now:)`` made.
    package enum Change {
        case down
        /// The trial has ended without an answer of the peer.
        case stillDown
        case up
    }

    /// The facts about a side that ``look(_:now:)`` judges.
    package struct Signs {
        package var isUsable: Bool
        package var hasWork: Bool
        /// The number of notifications that the peer has accepted, or rejected for a fault of the notification.
        package var answered: Int
    }

    private let downAfter: TimeAmount
    private let trialInterval: TimeAmount
    private var state = State.working
    /// The number of answers at the last call of ``look(_:now:)``.
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

    /// The group that tries the side; nil without a trial.
    package var trialGroup: Int? {
        if case .trying(let group, _, _) = self.state { group } else { nil }
    }

    /// Whether the next notification for one of the side's devices starts a trial.
    package func isTrialDue(now: NIODeadline) -> Bool {
        if case .down(let trialAt) = self.state { trialAt <= now } else { false }
    }

    package mutating func beginTrial(of group: Int, now: NIODeadline) {
        self.state = .trying(group: group, until: now + self.trialInterval, nil)
    }

    /// Notes that the side itself reports an error that stops its work. Returns the change, if any.
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
            // A side that is down may still send copies of notifications that may have arrived. An answer to one of
            // them shows that the side works.
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
            // No notification waits for the side, so the trial shows nothing. The next notification for one of the
            // side's devices starts another trial.
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

    /// The time of the next ``look(_:now:)``; nil if only an event can change the state.
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
