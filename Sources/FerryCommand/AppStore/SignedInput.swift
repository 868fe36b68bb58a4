internal import FerryAppStore
internal import FerryCore

/// The input of `ferry appstore verify`: the body of a post, or a signed text alone.
struct SignedInput {
    /// The input without white space around it.
    private let text: [UInt8]

    init(_ bytes: some Collection<UInt8>) {
        self.text = SignedTextKind.trimmed(bytes)
    }

    private var isObject: Bool { self.text.first == UInt8(ascii: "{") }

    /// The signed text of a transaction or renewal, alone or in an answer of Apple's API.
    private var signedText: [UInt8] { (self.isObject ? SignedTextKind.text(in: self.text) : nil) ?? self.text }

    /// Verifies a notification.
    func notification(_ verifier: AppStoreVerifier) async throws(AppStoreVerificationError) -> AppStoreNotification {
        guard self.isObject else {
            return try await verifier.verifyOnline(signedPayload: String(decoding: self.text, as: UTF8.self))
        }
        return try await verifier.verifyOnline(post: self.text)
    }

    /// Verifies a transaction or a renewal.
    func object(_ verifier: AppStoreVerifier) async throws(AppStoreVerificationError) -> AppStoreSignedObject {
        try await verifier.verifyOnline(signedObject: String(decoding: self.signedText, as: UTF8.self))
    }

    /// The sentence for an input of another kind than the one that is wanted; nil if the kind fits or is unknown.
    func otherKind(wantsTransaction: Bool) -> String? {
        guard let kind = SignedTextKind(signedText: self.signedText) else {
            let isPost = self.isObject && wantsTransaction
            return isPost ? "This is the body of a post and no signed transaction: leave out --transaction." : nil
        }
        if kind == .notification {
            return wantsTransaction ? "This is a notification and no signed transaction: leave out --transaction." : nil
        }
        return wantsTransaction ? nil : "This is \(kind.words) and no notification: --transaction verifies it."
    }
}
