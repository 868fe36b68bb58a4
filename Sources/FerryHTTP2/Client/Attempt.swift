internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// A notification between its first attempt and its outcome.
struct Attempt {
    /// One notification.
    var run: BatchRun
    /// The same for all attempts, so that a device shows a notification only once even if it was sent twice.
    var apnsID: APNSID
    /// APNs' refusal of the last attempt. It becomes the outcome if there is no other.
    var rejection: Rejection?
    /// Whether it was written before.
    var wasWritten = false
    /// Whether it was moved to a new connection because APNs demanded one.
    var wasMoved = false
    /// Whether it was sent again because a connection answered it with a server error.
    var hadServerError = false

    /// When the notification was submitted.
    var submitted: NIODeadline { self.run.submitted }
}
