internal import DequeModule
package import NIOCore

/// At most 10 new connections a second: more "looks like an attack to Apple" (Binary Provider API).
package struct DialLimiter: Sendable {
    package static let perSecond = 10

    /// When the last ones were made, oldest first.
    private var dials: Deque<NIODeadline> = []

    package init() {}

    /// Takes a permission; or says when there will be one.
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
