internal import DequeModule
package import NIOCore

/// A limit of 10 new connections a second. A higher rate "looks like an attack to Apple" (Binary Provider API).
package struct DialLimiter: Sendable {
    package static let perSecond = 10

    /// The times of the last connections, oldest first.
    private var dials: Deque<NIODeadline> = []

    package init() {}

    /// Takes a permission and returns nil. If no permission is free now, returns the time of the next.
    package mutating func take(now: NIODeadline) -> NIODeadline? {
        if self.dials.count >= Self.perSecond, let oldest = self.dials.first {
            let later = oldest + .seconds(1)
            guard later <= now else { return later }
            self.dials.removeFirst()
        }
        self.dials.append(now)
        return nil
    }
}
