internal import NIOCore

/// The decision when to send close_notify after the rows of a feedback list, without I/O.
///
/// ```
///             rows are with    ┌────────────────┐ the reader's   ┌─────────┐ time
///   writing ──the system──────▶│ unacknowledged │ system has all │ pausing │──────▶ ended
///                              └────────────────┘───────────────▶└─────────┘
/// ```
///
/// Libraries in Go drop the last row if they read it together with close_notify. So close_notify is a write of its
/// own. In a pause before this write, the reader takes the rows from its system. The pause grows with the number of
/// rows, because a reader may write each row to a database.
struct FeedbackEnding {
    private enum State {
        case writing
        case unacknowledged
        case pausing(until: NIODeadline)
        case ended
    }

    /// The shortest pause after the last acknowledgement, without the round trip that is added. The pause is as long
    /// as ``GatewayBounds/outputDelay``.
    static let pause: TimeAmount = .milliseconds(200)
    static let pauseOfRow: TimeAmount = .milliseconds(5)
    static let longestPause: TimeAmount = .seconds(5)
    /// The time between two checks of the acknowledgements.
    static let look: TimeAmount = .milliseconds(50)

    /// The work that the owner must do.
    enum Action: Hashable {
        case none
        /// Check the acknowledgements at this time, and call ``looked(_:roundTrip:now:)``.
        case look(at: NIODeadline)
        /// Call ``timePassed(now:)`` at this time.
        case wait(until: NIODeadline)
        /// Send close_notify.
        case end
    }

    private let pause: TimeAmount
    private var state = State.writing

    /// - Parameter rows: the number of rows that the reader gets.
    init(rows: Int) {
        let ofRows = Self.pauseOfRow * Int(min(rows, 1000))
        self.pause = min(Self.pause + ofRows, Self.longestPause)
    }

    /// Notes that all rows were given to the system.
    mutating func written(now: NIODeadline) -> Action {
        guard case .writing = self.state else { return .none }
        self.state = .unacknowledged
        return .look(at: now)
    }

    /// Notes a check of the acknowledgements.
    ///
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
