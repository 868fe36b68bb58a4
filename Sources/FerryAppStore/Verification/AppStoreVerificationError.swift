/// The reason for which a receiver refuses a post. It contains no part of the post except names of members.
public struct AppStoreVerificationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of refusal. Each leads to a different answer.
    @nonexhaustive
    public enum Code: String, Sendable {
        /// The post does not have a form that Apple sends.
        case malformed
        /// Apple did not sign the post, or signed it in another way than notifications.
        case forged
        /// Apple signed the post for an app that is not served here.
        case otherApp
        /// Apple signed the post for an environment that is not served here.
        case otherEnvironment
        /// It cannot be determined now whether the post is genuine.
        case tryAgain
        /// The post is genuine, but this version of Ferry does not know its form.
        case notUnderstood
    }

    /// The kind of refusal. ``AppStoreReceiver`` chooses the status of its answer by it.
    public let code: Code
    /// One sentence with the check that failed, and the part of the post that failed it.
    public let description: String

    /// - Parameters:
    ///   - code: the kind of refusal.
    ///   - description: one sentence, without any content of the post.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
