#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Why the App Store Server API gave no answer, or not the one asked for. Two errors are the same fault if their ``code`` is
/// the same.
///
/// The description says what happened and what to do, and shows no token, key or signed text.
public struct AppStoreServerError: Error, Sendable, CustomStringConvertible {
    /// The kind of error. Programs decide by it, because sentences may change.
    public let code: Code
    /// What happened, and what to do.
    public let description: String
    /// The status of the answer; nil without an answer.
    public let status: Int?
    /// The time from which Apple takes requests again, if it said so.
    public let retryAfter: Date?
    /// The error that caused this one.
    public let cause: (any Error)?

    init(
        _ code: Code,
        _ description: String,
        status: Int? = nil,
        retryAfter: Date? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.description = description
        self.status = status
        self.retryAfter = retryAfter
        self.cause = cause
    }
}
