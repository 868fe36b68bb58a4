internal import NIOCore

/// The number of refused tokens that one side connection may carry.
///
/// ```
///               used: +10
///   50 ──────────────────────────▶ 200
///    │                              │
///    └──▶ half, and a limit for a day ◀── APNs closed it
/// ```
///
/// Apple does not document after how many refusals APNs closes a connection. Besides the number of refusals, APNs
/// possibly has other reasons.
struct SideBudget: Sendable {
    static let first = 50
    static let growth = 10
    static let cap = 200
    static let floor = 5
    /// How long the budget stays limited after APNs closed a connection.
    static let memory: TimeAmount = .hours(24)

    private(set) var size = SideBudget.first
    private var limit = SideBudget.cap
    private var limitedUntil = NIODeadline.distantPast

    /// The number of refusals after which a connection gets no more notifications. The rest of the budget is for
    /// notifications under way, which APNs may refuse, too.
    var threshold: Int { max(self.size * 3 / 4, 1) }

    /// Notes that a connection has reached ``threshold``, and that APNs did not close this connection.
    mutating func wasUsed(now: NIODeadline) {
        if self.limitedUntil <= now { self.limit = Self.cap }
        self.size = max(self.size, min(self.size + Self.growth, self.limit))
    }

    /// Notes that APNs closed a connection after this number of refusals.
    mutating func wasClosed(after refusals: Int, now: NIODeadline) {
        let limit = max(refusals * 3 / 4, Self.floor)
        self.limit = self.limitedUntil > now ? min(self.limit, limit) : limit
        self.limitedUntil = now + Self.memory
        self.size = max(min(self.size, refusals) / 2, Self.floor)
    }
}
