/// Whether a connection was of use. One that brought no answer counts as failed, once.
///
/// ```
///             failed                answer
///   untried ──────────▶ counted ──────────────▶ proven
///     │                                           ▲
///     └────────────────── answer ─────────────────┘
/// ```
enum Standing {
    /// It brought no answer yet.
    case untried
    /// It brought no answer, and was counted as failed.
    case counted
    /// It brought an answer.
    case proven

    mutating func answered() { self = .proven }

    /// Notes that the connection ended, or is left; true when it is to be counted as failed now.
    mutating func countsAsFailure() -> Bool {
        guard case .untried = self else { return false }
        self = .counted
        return true
    }
}
