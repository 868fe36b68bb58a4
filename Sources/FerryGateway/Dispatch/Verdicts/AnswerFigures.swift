package import FerryCore
internal import NIOCore

/// APNs' answers of one upstream: how many of each kind, and how long they took.
package struct AnswerFigures: Hashable, Sendable {
    /// The refusals by reason. A reason that Ferry does not know counts as ``Reason/unknown``: a peer could otherwise make
    /// any number of entries.
    package private(set) var refusals: [Reason: Int] = [:]
    /// The notifications that APNs took.
    package private(set) var accepted = 0
    /// The times from the frame to the answer, of notifications that APNs accepted or refused at the first try.
    package private(set) var times = TimeHistogram()
    /// The times of the last one to two minutes.
    var recent = RecentTimes()

    /// - Parameter time: nil if the time says nothing about the way to APNs.
    mutating func add(_ outcome: Outcome, after time: TimeAmount?, now: NIODeadline) {
        switch outcome {
        case .accepted:
            self.accepted += 1
        case .rejected(let rejection):
            // Its fate is known without APNs.
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
