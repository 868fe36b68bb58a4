internal import FerryCore
internal import NIOCore

/// The clock of a replay filter. The clock stands still while the gateway does not read from at least one connection
/// of the scope, because the window of that connection is full. A copy that waits unread in this time must not count
/// as late.
///
/// A *reading* is a time of this clock. While the clock runs, a reading is the machine's time minus the lengths of all
/// stops.
struct FilterClock: Sendable {
    private var stopped: Set<ConnectionID> = []
    private var stoppedAt: NIODeadline?
    private var lag = TimeAmount.zero

    func reading(_ now: NIODeadline) -> NIODeadline { min(now, self.stoppedAt ?? now) - self.lag }

    /// The time at which the clock shows this reading; nil while the clock stands still.
    func time(of reading: NIODeadline) -> NIODeadline? { self.stoppedAt == nil ? reading + self.lag : nil }

    /// Notes whether the gateway reads this connection.
    mutating func note(_ connection: ConnectionID, isRead: Bool, now: NIODeadline) {
        if isRead { self.stopped.remove(connection) } else { self.stopped.insert(connection) }
        guard self.stopped.isEmpty else {
            self.stoppedAt = self.stoppedAt ?? now
            return
        }
        if let stoppedAt { self.lag = self.lag + (now - stoppedAt) }
        self.stoppedAt = nil
    }
}
