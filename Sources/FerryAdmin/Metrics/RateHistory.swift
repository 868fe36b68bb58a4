/// The rates of the last hour, in fixed memory: what happened in each of the last 360 steps of ten seconds.
package struct RateHistory: Hashable, Sendable {
    /// The counts of one step.
    package struct Step: Hashable, Codable, Sendable {
        package var read = 0
        package var accepted = 0
        package var rejected = 0

        package init(read: Int = 0, accepted: Int = 0, rejected: Int = 0) {
            self.read = read
            self.accepted = accepted
            self.rejected = rejected
        }
    }

    package static let seconds = 10
    package static let limit = 360

    /// The steps that are over, from the oldest to the newest.
    package private(set) var steps: [Step] = []
    private var beganAt: Int
    /// The counts when the present step began.
    private var base: Step
    private var last: Step

    /// - Parameter now: a monotonic time in seconds.
    package init(_ totals: Step = Step(), now: Int) {
        self.base = totals
        self.last = totals
        self.beganAt = now
    }

    /// Notes the counts since the start of the process. Call it at least once in ten seconds; what happened in a longer gap
    /// counts for its first step.
    package mutating func note(_ totals: Step, now: Int) {
        while now - self.beganAt >= Self.seconds {
            self.steps.append(totals - self.base)
            if self.steps.count > Self.limit { self.steps.removeFirst(self.steps.count - Self.limit) }
            self.base = totals
            self.beganAt += Self.seconds
            // A long sleep of the machine is not gone through step by step.
            if now - self.beganAt > Self.seconds * Self.limit {
                self.steps = []
                self.beganAt = now
            }
        }
        self.last = totals
    }

    /// The rate of the present and the last step, for each second.
    package func rate(now: Int) -> Rate {
        let before = self.steps.last ?? Step()
        let present = self.last - self.base
        let time = Double(max(now - self.beganAt, 0) + (self.steps.isEmpty ? 0 : Self.seconds))
        guard time >= 1 else { return Rate(read: 0, accepted: 0, rejected: 0) }
        return Rate(
            read: Double(before.read + present.read) / time,
            accepted: Double(before.accepted + present.accepted) / time,
            rejected: Double(before.rejected + present.rejected) / time
        )
    }
}

extension RateHistory.Step {
    fileprivate static func - (left: Self, right: Self) -> Self {
        Self(
            read: left.read - right.read,
            accepted: left.accepted - right.accepted,
            rejected: left.rejected - right.rejected
        )
    }
}
