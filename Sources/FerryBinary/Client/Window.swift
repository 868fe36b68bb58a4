internal import NIOCore

/// The bound of unsettled notifications on a connection after the peer has ended some connections.
///
/// An error response costs all notifications in flight, even when the peer shuts down (status 10). Without a window, an
/// error every few notifications would make the number of copies grow without bound. The window follows the number of
/// notifications that connections accept before they end. It opens again while no connection ends.
struct Window {
    /// The smallest window. With a larger one, 20 % of bad tokens cost 20 copies of each good one.
    static let floor = 10

    /// The size; nil if only the cache limits the number.
    private(set) var size: Int?
    private var averageProgress: Double?
    private var doublesAt: NIODeadline?
    /// The number of notifications accepted since the peer last ended a connection.
    private var acceptedCount = 0

    /// The mean number of notifications accepted between two ends; nil before the first end.
    var progress: Int? { self.averageProgress.map { Int(min($0, Double(Int32.max))) } }

    mutating func accepted(_ count: Int) { self.acceptedCount += count }

    /// Notes that the peer ended a connection.
    ///
    /// - Parameters:
    ///   - progress: the number of notifications accepted on that connection; nil if only the outcomes show it.
    ///   - limit: the number that may be unsettled without a window.
    mutating func narrow(progress: Int?, limit: Int, settleTime: TimeAmount, now: NIODeadline) {
        let progress = Double(progress ?? self.acceptedCount)
        let average = self.averageProgress.map { $0 * 0.75 + progress * 0.25 } ?? progress
        self.averageProgress = average
        self.size = min(max(Int(min(average * 4, Double(Int32.max))), Self.floor), max(limit, Self.floor))
        self.doublesAt = now + settleTime
        self.acceptedCount = 0
    }

    /// Doubles the window if a settle time passed without an error; returns whether the size changed.
    mutating func widen(limit: Int, settleTime: TimeAmount, now: NIODeadline) -> Bool {
        guard let size, let doublesAt, now >= doublesAt else { return false }
        self.doublesAt = now + settleTime
        // If nothing was accepted, a larger window would not help, and would cost more copies at the next end.
        guard self.acceptedCount > 0 else { return false }
        self.size = size * 2 >= limit ? nil : size * 2
        return true
    }

    /// When the window may double next; nil when there is no window.
    var nextChange: NIODeadline? { self.size == nil ? nil : self.doublesAt }
}
