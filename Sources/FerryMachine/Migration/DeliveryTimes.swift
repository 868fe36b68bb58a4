package import FerryCore
package import NIOCore

/// The times that notifications took: from submission to the first byte, and from that byte to the outcome.
package struct DeliveryTimes {
    /// The time of the present input.
    package var now = NIODeadline.distantPast
    /// The times from submission to the first byte.
    package private(set) var toWrite = DurationHistogram()
    /// The times from the first byte to an answer of the peer or to a proof.
    package private(set) var toAnswer = DurationHistogram()
    /// The times from the first byte to an acceptance that rests on silence.
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

    /// Returns the times that were added since the last call; nil if no times were added.
    package mutating func takeNew() -> DeliveryTimes? {
        guard !self.isEmpty else { return nil }
        var empty = DeliveryTimes()
        empty.now = self.now
        defer { self = empty }
        return self
    }
}
