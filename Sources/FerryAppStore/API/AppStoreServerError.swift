public import FerryPlatform

/// An error of a call to the App Store Server API. The ``code`` is enough to tell the kinds of fault apart.
///
/// The description has the fault and, if known, the remedy. It contains no token, key or signed text.
public struct AppStoreServerError: Error, Sendable, CustomStringConvertible {
    /// The kind of error. A program must decide by the code, because the sentences may change.
    public let code: Code
    /// Sentences with the fault and, if known, the remedy.
    public let description: String
    /// The HTTP status of the answer; nil if no complete HTTP answer came.
    public let status: Int?
    /// The time from which Apple accepts requests again: `Retry-After`, or the client's own estimate if the client
    /// did not send the request; nil if neither is known.
    public let retryAfter: Date?
    /// The error that caused this error; nil without a cause.
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
