internal import DequeModule
internal import NIOCore

/// The times at which a client's notifications came. They show whether the client is calm.
struct Pace: Sendable {
    private struct Burst: Sendable {
        var startedAt: NIODeadline
        var endedAt: NIODeadline
        var count: Int
    }

    /// The time within which notifications count as one burst. With a longer time, a calm client would count as calm
    /// later.
    private static let burst: TimeAmount = .milliseconds(5)

    private var bursts: Deque<Burst> = []
    /// When the last byte came, even of an incomplete notification; the start of the connection before the first byte.
    private(set) var heardAt: NIODeadline

    init(now: NIODeadline) {
        self.heardAt = now
    }

    mutating func heard(_ count: Int, now: NIODeadline) {
        self.heardAt = now
        guard count > 0 else { return }
        // Bursts older than ``GatewayBounds/age`` do not matter, because a client that is not calm within that time
        // is not told its rejection.
        while let first = self.bursts.first, now - first.endedAt > GatewayBounds.age { self.bursts.removeFirst() }
        if let last = self.bursts.last, now - last.startedAt < Self.burst {
            self.bursts[self.bursts.count - 1].endedAt = now
            self.bursts[self.bursts.count - 1].count += count
        } else {
            self.bursts.append(Burst(startedAt: now, endedAt: now, count: count))
        }
    }

    /// Returns the time from which at most `limit` notifications lie within the last `span`, if no more come.
    func isBelow(_ limit: Int, within span: TimeAmount) -> NIODeadline {
        var count = 0
        for burst in self.bursts.reversed() {
            count += burst.count
            if count > limit { return burst.endedAt + span }
        }
        return .distantPast
    }
}
