/// An error that stopped a recovery. The sink keeps the notifications that it has taken. With a checkpoint, the next
/// recovery goes on from there.
public struct AppStoreRecoveryError: Error, Sendable, CustomStringConvertible {
    /// The kind of fault that stopped a recovery.
    @nonexhaustive
    public enum Code: String, Sendable {
        /// No start was given, and there is no checkpoint.
        case noStart
        /// The window has no length, or Apple no longer has any part of it.
        case emptyWindow
        /// The checkpoint belongs to another recovery.
        case otherCheckpoint
        /// The checkpoint cannot be read.
        case checkpointUnreadable
        /// The checkpoint cannot be written.
        case checkpointUnwritable
        /// The sink fails to accept notifications.
        case sinkFailed
        /// It cannot be determined now whether notifications are genuine.
        case notVerifiable
        /// Apple's server failed. The cause is an ``AppStoreServerError``.
        case serverFailed
        /// The task was cancelled.
        case cancelled
    }

    /// The kind of fault. Programs decide by it, because sentences may change.
    public let code: Code
    /// The fault, in sentences for an operator. With ``Code/sinkFailed``, the text of the sink is included.
    public let description: String
    /// The work so far; nil if no work began.
    public let report: AppStoreRecoveryReport?
    /// The error that caused this one. It comes from Apple's server, from the verification, or from the system if the
    /// checkpoint cannot be written. It is nil if the recovery found the fault itself, or if the sink reported it.
    public let cause: (any Error)?

    init(_ code: Code, _ description: String, report: AppStoreRecoveryReport? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.description = description
        self.report = report
        self.cause = cause
    }
}
