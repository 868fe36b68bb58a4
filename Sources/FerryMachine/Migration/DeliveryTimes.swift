package import FerryCore
package import NIOCore

/// How long notifications take to be written, and from there to their outcome.
package struct DeliveryTimes {
    /// The time of the present input.
    package var now = NIODeadline.distantPast
    /// From the submission to the first byte.
    package private(set) var toWrite = DurationHistogram()
    /// From there to an answer of the peer, or a proof.
    package private(set) var toAnswer = DurationHistogram()
    /// From there to an acceptance that rests on silence.
    package private(set) var toPresume = DurationHistogram()

    package init() {}

    package var isEmpty: Bool { self.toWrite.count + self.toAnswer.count + self.toPresume.count == 0 }

    package mutating func wrote(_ run: BatchRun) {
        self.toWrite.add(nanoseconds: (self.now - run.submitted).nanoseconds, count: run.count)
    }

    package mutating func settled(_ outcome: Outcome, writtenAt: NIODeadline, count: Int) {
        let time = (self.now - writtenAt).nanoseconds
        switch outcome {
        case .accepted(.presumed): self.toPresume.add(nanoseconds: time, count: count)
        case .accepted, .rejected: self.toAnswer.add(nanoseconds: time, count: count)
        case .expired, .undelivered, .uncertain: break
        }
    }

    /// Returns the times since the last call; nil if there are none.
    package mutating func takeNew() -> DeliveryTimes? {
        guard !self.isEmpty else { return nil }
        var empty = DeliveryTimes()
        empty.now = self.now
        defer { self = empty }
        return self
    }
}
