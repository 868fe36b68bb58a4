/// The rates of the last hour, in fixed memory: the counts of each of the last 360 steps of ten seconds.
///
/// The present rate is the average of the last ten to twenty seconds, so that few events make a steady figure. If the
/// counts of the last two seconds do not fit the present rate, the rate has changed. Then earlier counts are left out.
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

    /// The counts at one moment.
    private struct Sample: Hashable {
        var at: Double
        var totals: Step
    }

    package static let seconds = 10.0
    package static let limit = 360
    /// The time whose counts are compared with the rate, in seconds. A reader who asks each second sees the change
    /// within three seconds.
    private static let shortTime = 2.0
    /// The shortest time between two samples, in seconds.
    private static let pause = 0.5

    /// The steps that are over, from the oldest to the newest.
    package private(set) var steps: [Step] = []
    private var beganAt: Double
    /// The counts when the present step began.
    private var base: Step
    private var last: Step
    /// The counts of the last seconds. The first sample is the newest that is at least ``shortTime`` old, or the oldest
    /// if no sample is so old.
    private var recent: [Sample]
    /// The counts at the last change of the rate; nil if the rate has not changed.
    private var change: Sample?

    /// - Parameter now: a monotonic time in seconds.
    package init(_ totals: Step = Step(), now: Double) {
        self.base = totals
        self.last = totals
        self.beganAt = now
        self.recent = [Sample(at: now, totals: totals)]
    }

    /// Notes the counts since the start of the process. Call it at least once in ten seconds. Events in a longer gap
    /// count for the first step of the gap.
    package mutating func note(_ totals: Step, now: Double) {
        while now - self.beganAt >= Self.seconds {
            self.steps.append(totals - self.base)
            if self.steps.count > Self.limit { self.steps.removeFirst(self.steps.count - Self.limit) }
            self.base = totals
            self.beganAt += Self.seconds
            // After a gap of more than an hour, for example when the machine slept, no step is of the last hour.
            if now - self.beganAt > Self.seconds * Double(Self.limit) {
                self.steps = []
                self.beganAt = now
            }
        }
        self.last = totals
        let isLater = self.recent.last.map { now - $0.at >= Self.pause } ?? true
        if isLater { self.recent.append(Sample(at: now, totals: totals)) }
        while self.recent.count > 1, now - self.recent[1].at >= Self.shortTime { self.recent.removeFirst() }
        guard let first = self.recent.first, now - first.at >= 1 else { return }
        let steady = self.rate(now: now)
        if !steady.foretells(totals - first.totals, in: now - first.at) { self.change = first }
    }

    /// Returns the events per second since the start of the last complete step. The time begins later if the rate
    /// changed since, or if no step is complete. Returns 0 if the time is less than one second.
    package func rate(now: Double) -> Rate {
        var start = Sample(at: self.beganAt, totals: self.base)
        if let step = self.steps.last { start = Sample(at: self.beganAt - Self.seconds, totals: self.base - step) }
        if let change, change.at > start.at { start = change }
        guard now - start.at >= 1 else { return Rate(read: 0, accepted: 0, rejected: 0) }
        return Rate(self.last - start.totals, in: now - start.at)
    }
}

extension Rate {
    fileprivate init(_ counts: RateHistory.Step, in time: Double) {
        self.init(
            read: Double(counts.read) / time,
            accepted: Double(counts.accepted) / time,
            rejected: Double(counts.rejected) / time
        )
    }

    /// Whether chance alone could make these counts. In a Poisson distribution, 99 of 100 counts are within 2.5
    /// standard deviations.
    fileprivate func foretells(_ counts: RateHistory.Step, in time: Double) -> Bool {
        [(self.read, counts.read), (self.accepted, counts.accepted), (self.rejected, counts.rejected)].allSatisfy {
            abs(Double($1) - $0 * time) <= 2.5 * ($0 * time).squareRoot() + 0.5
        }
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
