/// Whether a connection was useful. A connection without an answer counts as failed, once.
///
/// ```
///             failed                answer
///   untried ──────────▶ counted ──────────────▶ proven
///     │                                           ▲
///     └────────────────── answer ─────────────────┘
/// ```
enum Standing {
    /// The connection brought no answer yet.
    case untried
    /// The connection brought no answer, and was counted as failed.
    case counted
    /// The connection brought an answer.
    case proven

    mutating func answered() { self = .proven }

    /// Notes that the end of the connection is not a failure of connecting.
    mutating func excuse() {
        if case .untried = self { self = .counted }
    }

    /// Notes that the connection ended or is left; returns true when it is to be counted as failed now.
    mutating func countsAsFailure() -> Bool {
        guard case .untried = self else { return false }
        self = .counted
        return true
    }
}
