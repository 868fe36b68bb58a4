/// Why a recovery stopped. What it did before is safe: with a checkpoint, the next one goes on from there.
public struct AppStoreRecoveryError: Error, Sendable, CustomStringConvertible {
    /// The kind of fault that stopped a recovery.
    @nonexhaustive
    public enum Code: String, Sendable {
        /// No beginning was given, and there is no checkpoint.
        case noStart
        /// The window has no length, or Apple no longer has any of it.
        case emptyWindow
        /// The checkpoint belongs to another recovery.
        case otherCheckpoint
        /// The checkpoint cannot be read.
        case checkpointUnreadable
        /// The checkpoint cannot be written.
        case checkpointUnwritable
        /// The sink does not take notifications.
        case sinkFailed
        /// Whether notifications are genuine is not known now.
        case notVerifiable
        /// Apple's server failed. The cause is an ``AppStoreServerError``.
        case serverFailed
        /// The task was cancelled.
        case cancelled
    }

    /// The kind of fault. Programs decide by it, because sentences may change.
    public let code: Code
    /// What happened, in sentences for an operator. With ``Code/sinkFailed``, the sink's own words are among them.
    public let description: String
    /// What was done; nil when nothing began.
    public let report: AppStoreRecoveryReport?
    /// The error that caused this one: of Apple's server, of the verification, or of the system for an unwritable
    /// checkpoint. Nil: the recovery found the fault itself, or the sink reported it.
    public let cause: (any Error)?

    init(_ code: Code, _ description: String, report: AppStoreRecoveryReport? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.description = description
        self.report = report
        self.cause = cause
    }
}
