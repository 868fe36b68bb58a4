/// The wait of a process for a thing that its predecessor still has, without I/O.
///
/// ```
///             refused               60 s after that
///   trying ───────────▶ waiting ─────────────────────▶ over
///      │                   │
///      └───── taken ───────┴─────▶ (no longer asked)
/// ```
package struct SuccessionWait: Sendable {
    private enum State {
        case trying
        case waiting(until: ContinuousClock.Instant)
        case over
    }

    /// The action after a refusal.
    package enum Action: Hashable, Sendable {
        /// Report that the process waits, and try again after the pause.
        case announce
        /// Try again after the pause.
        case retry
        /// The wait was too long.
        case giveUp
    }

    /// The longest wait of a process, from the first refusal. The predecessor ends its connections within 5 s. To
    /// close a store on a slow disk takes longer.
    package static let limit: Duration = .seconds(60)
    /// The time between two tries. It is short, because no client is served meanwhile.
    package static let pause: Duration = .milliseconds(50)

    private var state = State.trying

    package init() {}

    /// Notes that another process has the thing.
    package mutating func refused(at now: ContinuousClock.Instant) -> Action {
        switch self.state {
        case .trying:
            self.state = .waiting(until: now + Self.limit)
            return .announce
        case .waiting(let end) where now < end:
            return .retry
        case .waiting, .over:
            self.state = .over
            return .giveUp
        }
    }
}
