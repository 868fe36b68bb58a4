internal import NIOCore

/// The pace at which side connections are dialled: one a second, in the long run one every 2 s, and fewer after
/// connections that were of little use.
///
/// Apple takes many short connections for an attack.
struct DialPace: Sendable {
    static let pause: TimeAmount = .seconds(1)
    /// The pause doubles up to this one while connections end with fewer answers than ``fewAnswers``.
    static let longestPause: TimeAmount = .seconds(8)
    static let fewAnswers = 20
    /// The mean time between two dials in the long run.
    static let interval: TimeAmount = .seconds(2)
    static let atOnce = 60

    private var pause = DialPace.pause
    private var last = NIODeadline.distantPast
    /// When all dials so far are paid for, at one for each ``interval``.
    private var paidAt = NIODeadline.distantPast

    /// When the next dial may be.
    var nextAt: NIODeadline {
        guard self.last > .distantPast else { return .distantPast }
        return max(self.last + self.pause, self.paidAt - Self.interval * (Self.atOnce - 1))
    }

    mutating func dialled(now: NIODeadline) {
        self.last = now
        self.paidAt = max(self.paidAt, now) + Self.interval
    }

    /// Notes how many answers a connection gave in its life.
    mutating func ended(answers: Int) {
        self.pause = answers < Self.fewAnswers ? min(self.pause * 2, Self.longestPause) : Self.pause
    }
}
