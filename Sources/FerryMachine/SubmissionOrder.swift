package import FerryCore
internal import NIOCore

/// The order in which one machine took its notifications.
///
/// The place of a run and the number in the run identify a notification. A notification keeps both when its run is cut,
/// copied or given to another machine.
package struct SubmissionOrder {
    /// The largest number of notifications that ``BatchEntry/number`` can tell apart.
    private static let numbers = Int(UInt16.max) + 1

    private var last: UInt64 = 0

    package init() {}

    /// Returns the next place, which no other run has. It is also the time of the submission in nanoseconds.
    package mutating func next(now: Moment) -> UInt64 {
        self.last = max(self.last + 1, now.monotonic.uptimeNanoseconds)
        return self.last
    }

    /// Cuts off the first notifications of a run, and gives them a place and numbers.
    ///
    /// - Returns: the first part of the run; nil if the run is empty.
    package mutating func placeFirst(of run: inout BatchRun, now: Moment) -> BatchRun? {
        guard run.count > 0 else { return nil }
        var part = run.takeFirst(Self.numbers)
        part.order = self.next(now: now)
        for index in 0..<part.count { part.entries[index].number = UInt16(truncatingIfNeeded: index) }
        return part
    }
}
