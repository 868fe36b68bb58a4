public import FerryPlatform

/// An error of a call to the App Store Server API. Two errors are the same fault if their ``code`` is the same.
///
/// The description says what happened and what to do. It contains no token, key or signed text.
public struct AppStoreServerError: Error, Sendable, CustomStringConvertible {
    /// The kind of error. Programs decide by it, because sentences may change.
    public let code: Code
    /// Sentences with the fault and what to do about it.
    public let description: String
    /// The status of the answer; nil if there was no answer.
    public let status: Int?
    /// The time from which Apple accepts requests again; nil if Apple did not say.
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
