/// The reason for which a verifier refuses a post or a signed text. The error contains no part of the text except
/// names of members.
public struct AppStoreVerificationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of refusal. ``AppStoreReceiver`` answers with a status that depends on the kind.
    @nonexhaustive
    public enum Code: String, Sendable {
        /// The post does not have a form that Apple sends, or has version 1 while version 1 is switched off.
        case malformed
        /// A signature is not valid, its certificate is not Apple's for the App Store, or a certificate has expired
        /// or was revoked. Or the shared secret of version 1 is wrong, or a text inside belongs to another app or
        /// environment than the notification.
        case forged
        /// The post names an app that is not served here. The signature may not have been checked.
        case otherApp
        /// The post names an environment that is not served here. The signature may not have been checked.
        case otherEnvironment
        /// The verifier cannot determine now whether the post is genuine.
        case tryAgain
        /// The post is genuine, but this version of Ferry does not know its form.
        case notUnderstood
    }

    /// The kind of refusal. The status of the answer depends on the kind.
    public let code: Code
    /// A text with the check that failed, and the name of the part that failed the check.
    public let description: String

    /// - Parameters:
    ///   - code: the kind of refusal.
    ///   - description: a sentence, without any content of the post except names of members.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
