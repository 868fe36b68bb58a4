internal import NIOCore

/// The number of notifications under way, and the number of those whose answers are late.
///
/// ```
///   went out ──▶ young ──tick──▶ old ──tick──▶ late
/// ```
///
/// A late answer may come after minutes, or never. So only the ``timely`` notifications count against ``Credit/limit``.
/// Otherwise four notifications that APNs never answers would stop their flow for ever.
struct UnderWay: Sendable {
    /// The time between two ticks. An answer counts as late after 5 to 10 s.
    static let tick: TimeAmount = .seconds(5)

    private var young = 0
    private var old = 0
    private var late = 0

    var count: Int { self.timely + self.late }
    /// The number of notifications whose answer is not late.
    var timely: Int { self.young + self.old }

    mutating func wentOut() { self.young += 1 }

    /// - Parameter ticks: the number of ticks since the notification was sent.
    mutating func returned(after ticks: UInt32) {
        switch ticks {
        case 0: self.young -= 1
        case 1: self.old -= 1
        default: self.late -= 1
        }
    }

    mutating func tick() {
        self.late += self.old
        self.old = self.young
        self.young = 0
    }
}
