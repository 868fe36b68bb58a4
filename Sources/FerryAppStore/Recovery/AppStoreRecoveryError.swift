/// An error that stopped a recovery. The sink keeps the notifications that it has taken. With a checkpoint, the next
/// recovery goes on after the last complete page.
public struct AppStoreRecoveryError: Error, Sendable, CustomStringConvertible {
    /// The kind of fault that stopped a recovery.
    @nonexhaustive
    public enum Code: String, Sendable {
        /// No start was given, and there is no checkpoint.
        case noStart
        /// The start is not before the end, or Apple no longer has any part of the window.
        case emptyWindow
        /// The checkpoint belongs to a recovery of another app, environment or ``AppStoreRecovery/onlyFailures``, or
        /// to an incomplete recovery with another start.
        case otherCheckpoint
        /// The checkpoint cannot be read.
        case checkpointUnreadable
        /// The checkpoint cannot be written.
        case checkpointUnwritable
        /// The sink answered ``AppStoreSinkAnswer/failed(_:)`` 4 times for one notification.
        case sinkFailed
        /// The verifier cannot determine now whether a notification is genuine.
        case notVerifiable
        /// Apple's server failed or refused the request. The cause is an ``AppStoreServerError``.
        case serverFailed
        /// The task was cancelled.
        case cancelled
    }

    /// The kind of fault. Programs decide by it, because sentences may change.
    public let code: Code
    /// The fault, in sentences for an operator. With ``Code/sinkFailed``, the text of the sink is included.
    public let description: String
    /// The work up to the last complete page. If the given start is not that of an incomplete checkpoint, it is the
    /// work of that checkpoint. Nil if the fault was found before there was a window.
    public let report: AppStoreRecoveryReport?
    /// The error that caused this error: an error of Apple's server, of the verification, or of the write of the
    /// checkpoint. It is nil for all other faults, such as an unreadable checkpoint or a failure of the sink.
    public let cause: (any Error)?

    init(_ code: Code, _ description: String, report: AppStoreRecoveryReport? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.description = description
        self.report = report
        self.cause = cause
    }
}
