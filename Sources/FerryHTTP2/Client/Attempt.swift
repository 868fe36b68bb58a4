internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// A notification between its first attempt and its outcome.
struct Attempt {
    /// One notification.
    var run: BatchRun
    /// The `apns-id` of all attempts. With it a device shows a notification once, even if it was sent twice.
    var apnsID: APNSID
    /// APNs' refusal of the last attempt. It becomes the outcome if no other attempt follows.
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
