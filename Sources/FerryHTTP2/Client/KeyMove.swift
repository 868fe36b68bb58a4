internal import FerryCore

/// The move of work to a new connection when APNs refuses a key on the old one (UnrelatedKeyIdInToken). If the new
/// connection refuses the key, too, the work is not moved again.
///
/// ```
///             APNs refuses the key                  another answer on a later connection
///   settled ──────────────────────────▶ moving ────────────────────────────────────────────▶ settled
/// ```
struct KeyMove {
    private enum State {
        case settled
        /// Work moves away from connections up to that number.
        case moving(from: UInt64)
    }

    private var state = State.settled

    /// Returns whether a new connection may accept what this one refused.
    func mayMove(from id: ConnectionID) -> Bool {
        if case .moving(let last) = self.state { id.rawValue <= last } else { true }
    }

    /// Starts a move away from a connection.
    ///
    /// - Parameter last: the connection that was started last.
    mutating func begin(last: UInt64) {
        if case .settled = self.state { self.state = .moving(from: last) }
    }

    /// Notes that APNs gave another answer on a connection.
    mutating func answered(on id: ConnectionID) {
        if case .moving(let last) = self.state, id.rawValue > last { self.state = .settled }
    }
}
