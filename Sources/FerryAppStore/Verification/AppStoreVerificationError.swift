/// Why a post is no notification for this receiver. Holds no part of the post but names of its members.
public struct AppStoreVerificationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What follows from the error.
    @nonexhaustive
    public enum Code: String, Sendable {
        /// It is not in a form that Apple sends.
        case malformed
        /// Apple did not sign it, or not as it signs notifications.
        case forged
        /// Apple signed it for an app that is not served here.
        case otherApp
        /// Apple signed it for an environment that is not served here.
        case otherEnvironment
        /// Whether it is genuine is not known now.
        case tryAgain
        /// It is genuine, and this version of Ferry does not know its form.
        case notUnderstood
    }

    /// What follows from the error: ``AppStoreReceiver`` chooses the status of its answer by it.
    public let code: Code
    /// One sentence: the check that failed, and what of the post it concerns.
    public let description: String

    /// - Parameters:
    ///   - code: what follows from the error.
    ///   - description: one sentence, without any content of the post.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
