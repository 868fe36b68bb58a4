internal import NIOCore

/// Decides when the end of a feedback list follows its rows. No I/O.
///
/// ```
///             rows are with    ┌────────────────┐ the reader's   ┌─────────┐ time
///   writing ──the system──────▶│ unacknowledged │ system has all │ pausing │──────▶ ended
///                              └────────────────┘───────────────▶└─────────┘
/// ```
///
/// Libraries in Go drop the last row if they read the end together with it. So the end is a write of its own, after a pause
/// in which the reader takes its rows out of its system. A reader with many rows may write each into a database meanwhile.
struct FeedbackEnding {
    private enum State {
        case writing
        case unacknowledged
        case pausing(until: NIODeadline)
        case ended
    }

    /// The pause after the last acknowledgement; a round trip is added. An error response waits as long for its end.
    static let pause: TimeAmount = .milliseconds(200)
    static let pauseOfRow: TimeAmount = .milliseconds(5)
    static let longestPause: TimeAmount = .seconds(5)
    /// The time between two looks at the acknowledgements.
    static let look: TimeAmount = .milliseconds(50)

    /// The work of the owner.
    enum Action: Hashable {
        case none
        /// Look at the acknowledgements at this time, and call ``looked(_:roundTrip:now:)``.
        case look(at: NIODeadline)
        /// Call ``timePassed(now:)`` at this time.
        case wait(until: NIODeadline)
        /// Send close_notify.
        case end
    }

    private let pause: TimeAmount
    private var state = State.writing

    /// - Parameter rows: how many rows the reader gets.
    init(rows: Int) {
        let ofRows = Self.pauseOfRow * Int(min(rows, 1000))
        self.pause = min(Self.pause + ofRows, Self.longestPause)
    }

    /// Notes that the system has every row.
    mutating func written(now: NIODeadline) -> Action {
        guard case .writing = self.state else { return .none }
        self.state = .unacknowledged
        return .look(at: now)
    }

    /// - Parameter hasEverything: whether the reader's system has acknowledged every byte.
    mutating func looked(_ hasEverything: Bool, roundTrip: TimeAmount, now: NIODeadline) -> Action {
        guard case .unacknowledged = self.state else { return .none }
        guard hasEverything else { return .look(at: now + Self.look) }
        let until = now + self.pause + min(roundTrip, Self.longestPause)
        self.state = .pausing(until: until)
        return .wait(until: until)
    }

    mutating func timePassed(now: NIODeadline) -> Action {
        guard case .pausing(let until) = self.state, until <= now else { return .none }
        self.state = .ended
        return .end
    }
}
