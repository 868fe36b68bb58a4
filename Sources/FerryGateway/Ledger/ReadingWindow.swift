internal import NIOCore

/// The bound of unresolved notifications that a connection may have. Above it the gateway stops reading.
///
/// It bounds memory and latency, and no promise depends on it. While notifications are resolved quickly it doubles with
/// each window of them; when one took long it halves.
struct ReadingWindow: Sendable {
    private(set) var size = GatewayBounds.window
    private var halvedAt: NIODeadline?

    /// Notes that a notification was resolved, so long after it was read.
    mutating func resolved(after time: TimeAmount, now: NIODeadline) {
        if time < GatewayBounds.quick {
            // One more for each: twice as many after a whole window.
            self.size = min(self.size + 1, GatewayBounds.windowCap)
        } else if time > GatewayBounds.slow {
            // One slow time concerns all notifications in flight, and must count once.
            if let halvedAt = self.halvedAt, now - halvedAt < GatewayBounds.slow { return }
            self.halvedAt = now
            self.size = max(self.size / 2, GatewayBounds.windowFloor)
        }
    }
}
