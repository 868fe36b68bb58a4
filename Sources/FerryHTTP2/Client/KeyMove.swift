internal import FerryCore

/// Moves work to a new connection when APNs refuses a key on the old one (UnrelatedKeyIdInToken), and does not move it a
/// second time when the new connection refuses it, too.
///
/// ```
///             APNs refuses the key                  another answer on a later connection
///   settled ──────────────────────────▶ moving ────────────────────────────────────────────▶ settled
/// ```
struct KeyMove {
    private enum State {
        case settled
        /// Work is moved away from connections up to that one.
        case moving(from: UInt64)
    }

    private var state = State.settled

    /// Whether a new connection may be of use to what this one refused.
    func mayMove(from id: ConnectionID) -> Bool {
        if case .moving(let last) = self.state { id.rawValue <= last } else { true }
    }

    /// Work is moved away from a connection.
    ///
    /// - Parameter last: the last connection that was begun with.
    mutating func begin(last: UInt64) {
        if case .settled = self.state { self.state = .moving(from: last) }
    }

    /// APNs gave another answer on a connection.
    mutating func answered(on id: ConnectionID) {
        if case .moving(let last) = self.state, id.rawValue > last { self.state = .settled }
    }
}
