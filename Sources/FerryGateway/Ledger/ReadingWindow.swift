internal import NIOCore

/// The number of unresolved notifications at which the gateway stops reading a connection.
///
/// The window bounds memory and latency, and no promise depends on it. Notifications that are resolved within
/// ``GatewayBounds/quick`` make the window twice as large after each whole window. A notification that takes longer
/// than ``GatewayBounds/slow`` halves the window, but at most once within ``GatewayBounds/slow``.
struct ReadingWindow: Sendable {
    private(set) var size = GatewayBounds.window
    private var halvedAt: NIODeadline?

    /// Notes that a notification was resolved, at this time after its reading.
    mutating func resolved(after time: TimeAmount, now: NIODeadline) {
        if time < GatewayBounds.quick {
            self.size = min(self.size + 1, GatewayBounds.windowCap)
        } else if time > GatewayBounds.slow {
            // One delay slows all notifications that are under way, so it must halve the window only once.
            if let halvedAt = self.halvedAt, now - halvedAt < GatewayBounds.slow { return }
            self.halvedAt = now
            self.size = max(self.size / 2, GatewayBounds.windowFloor)
        }
    }
}
