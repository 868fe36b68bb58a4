internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// A notification between its first attempt and its outcome.
struct Attempt {
    /// One notification.
    var run: BatchRun
    /// The same for all attempts, so that a device shows a notification once that was sent twice.
    var apnsID: APNSID
    /// What APNs said of the last attempt; its outcome, if there is no other.
    var rejection: Rejection?
    /// Whether it was written before.
    var wasWritten = false
    /// Whether it was moved to a new connection because APNs asked for that.
    var wasMoved = false

    /// The notification was submitted at that time.
    var submitted: NIODeadline { self.run.submitted }
}

extension BatchRun {
    /// When the run was submitted: its place in the order of submission is that time.
    var submitted: NIODeadline { .uptimeNanoseconds(self.order) }
}
