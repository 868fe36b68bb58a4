internal import NIOCore

/// The number of unresolved notifications above which the gateway stops reading a connection.
///
/// The window bounds memory and latency, and no promise depends on it. Quick notifications make the window twice as
/// large after each whole window. A slow notification halves the window.
struct ReadingWindow: Sendable {
    private(set) var size = GatewayBounds.window
    private var halvedAt: NIODeadline?

    /// Notes that a notification was resolved, and how long after it was read.
    mutating func resolved(after time: TimeAmount, now: NIODeadline) {
        if time < GatewayBounds.quick {
            self.size = min(self.size + 1, GatewayBounds.windowCap)
        } else if time > GatewayBounds.slow {
            // One slow time affects all notifications that are under way, so it must count once.
            if let halvedAt = self.halvedAt, now - halvedAt < GatewayBounds.slow { return }
            self.halvedAt = now
            self.size = max(self.size / 2, GatewayBounds.windowFloor)
        }
    }
}
