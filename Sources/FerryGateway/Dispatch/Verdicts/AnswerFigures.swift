package import FerryCore
internal import NIOCore

/// The numbers of APNs' answers at one upstream, and the times to these answers.
package struct AnswerFigures: Hashable, Sendable {
    /// The number of refusals by reason. A reason that Ferry does not know counts as ``Reason/unknown``. Otherwise a
    /// peer could make any number of entries.
    package private(set) var refusals: [Reason: Int] = [:]
    /// The number of notifications that APNs accepted.
    package private(set) var accepted = 0
    /// The times from the reading of a notification to APNs' answer. Only the first attempt of a job with
    /// ``Job/isTimed`` counts.
    package private(set) var times = TimeHistogram()
    /// The times of the last one to two minutes.
    var recent = RecentTimes()

    /// Adds the figures of another gateway, without its ``recent`` times.
    mutating func add(_ other: AnswerFigures) {
        self.refusals.merge(other.refusals, uniquingKeysWith: +)
        self.accepted += other.accepted
        self.times.add(other.times)
    }

    /// - Parameter time: the time since the notification was read; nil if this time does not show how fast the way to
    ///   APNs is.
    mutating func add(_ outcome: Outcome, after time: TimeAmount?, now: NIODeadline) {
        switch outcome {
        case .accepted:
            self.accepted += 1
        case .rejected(let rejection):
            // A refusal by Ferry itself is no answer of APNs.
            guard rejection.origin == .apns else { return }
            self.refusals[rejection.reason.isKnown ? rejection.reason : .unknown, default: 0] += 1
        case .expired, .undelivered, .uncertain:
            return
        }
        guard let time else { return }
        self.times.add(nanoseconds: time.nanoseconds)
        self.recent.add(nanoseconds: time.nanoseconds, now: Int64(clamping: now.uptimeNanoseconds))
    }
}
