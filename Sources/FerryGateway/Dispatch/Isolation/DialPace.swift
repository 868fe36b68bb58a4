internal import NIOCore

/// The pace at which side connections are dialled: one a second, and one every 2 s in the long run. After connections
/// with few answers, the pace is lower.
///
/// Apple takes many short connections for an attack.
struct DialPace: Sendable {
    static let pause: TimeAmount = .seconds(1)
    /// The longest pause. The pause doubles while connections end with fewer answers than ``fewAnswers``.
    static let longestPause: TimeAmount = .seconds(8)
    static let fewAnswers = 20
    /// The mean time between two dials in the long run.
    static let interval: TimeAmount = .seconds(2)
    static let atOnce = 60

    private var pause = DialPace.pause
    private var last = NIODeadline.distantPast
    /// The time that the dials so far have used up, at one ``interval`` each.
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
