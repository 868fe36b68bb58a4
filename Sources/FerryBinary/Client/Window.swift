internal import NIOCore

/// How many notifications may be unsettled on a connection after the peer has ended some.
///
/// An error response costs everything in flight, a shutdown of the peer (status 10) included: with one every few
/// notifications and no window, the copies sent grow without bound. The window follows how far connections get until
/// then, and opens again while nothing ends them.
struct Window {
    /// With more, 20 % of bad tokens cost 20 copies of each good one.
    static let floor = 10

    /// Nil: no limit but the cache's.
    private(set) var size: Int?
    private var averageProgress: Double?
    private var doublesAt: NIODeadline?
    /// How many notifications were accepted since the peer last ended some.
    private var acceptedCount = 0

    /// How many notifications are accepted between two ends, in the mean; nil: none was ended yet.
    var progress: Int? { self.averageProgress.map { Int(min($0, Double(Int32.max))) } }

    mutating func accepted(_ count: Int) { self.acceptedCount += count }

    /// Notes an end.
    ///
    /// - Parameters:
    ///   - progress: how many notifications were accepted on that connection; nil: as far as their outcomes tell.
    ///   - limit: how many may be unsettled without a window.
    mutating func narrow(progress: Int?, limit: Int, settleTime: TimeAmount, now: NIODeadline) {
        let progress = Double(progress ?? self.acceptedCount)
        let average = self.averageProgress.map { $0 * 0.75 + progress * 0.25 } ?? progress
        self.averageProgress = average
        self.size = min(max(Int(min(average * 4, Double(Int32.max))), Self.floor), max(limit, Self.floor))
        self.doublesAt = now + settleTime
        self.acceptedCount = 0
    }

    /// Doubles when a settle time passed without an error; true when the size changed.
    mutating func widen(limit: Int, settleTime: TimeAmount, now: NIODeadline) -> Bool {
        guard let size, let doublesAt, now >= doublesAt else { return false }
        self.doublesAt = now + settleTime
        // Where nothing was accepted, more in flight would be accepted no sooner, and cost more at the next end.
        guard self.acceptedCount > 0 else { return false }
        self.size = size * 2 >= limit ? nil : size * 2
        return true
    }

    /// When it may double next; nil when there is no limit.
    var nextChange: NIODeadline? { self.size == nil ? nil : self.doublesAt }
}
