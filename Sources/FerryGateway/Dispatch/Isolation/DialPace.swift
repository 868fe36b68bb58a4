internal import NIOCore

/// The pace at which side connections are opened: at most one in each second, and one in 2 s in the long run. After
/// connections with few answers, the pause is up to 8 s.
///
/// The reason: Apple treats many short connections as an attack.
struct DialPace: Sendable {
    static let pause: TimeAmount = .seconds(1)
    /// The longest pause. Each connection that ends with fewer answers than ``fewAnswers`` doubles the pause. A
    /// connection with ``fewAnswers`` or more resets the pause to one second.
    static let longestPause: TimeAmount = .seconds(8)
    static let fewAnswers = 20
    /// The shortest mean time between two dials in the long run.
    static let interval: TimeAmount = .seconds(2)
    /// The number of connections that may be opened ahead of ``interval``, one after each pause.
    static let atOnce = 60

    private var pause = DialPace.pause
    private var last = NIODeadline.distantPast
    /// The time up to which the dials so far are paid for, if each costs one ``interval``.
    private var paidAt = NIODeadline.distantPast

    /// The earliest time of the next dial.
    var nextAt: NIODeadline {
        guard self.last > .distantPast else { return .distantPast }
        return max(self.last + self.pause, self.paidAt - Self.interval * (Self.atOnce - 1))
    }

    mutating func dialled(now: NIODeadline) {
        self.last = now
        self.paidAt = max(self.paidAt, now) + Self.interval
    }

    /// Notes the number of answers that came on an ended connection.
    mutating func ended(answers: Int) {
        self.pause = answers < Self.fewAnswers ? min(self.pause * 2, Self.longestPause) : Self.pause
    }
}
