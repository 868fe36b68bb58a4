internal import FerryCore
internal import FerryPlatform

/// The certificates that a new verifier knows before its first post.
///
/// A check of unknown certificates costs 2 ms, and anybody can send new ones without end. So the verifier checks at
/// most a hundred bad ones in a second. During a flood, it therefore refuses genuine posts with certificates that it
/// has never seen. Posts with known certificates are not affected.
extension AppStoreVerifier {
    /// Remembers the certificates of a text that Apple signed for any app: a notification, a transaction or a renewal.
    /// `text` is the body of a post, or the signed text alone.
    ///
    /// An ``AppStoreStore`` does this by itself from its second start on.
    ///
    /// - Throws: ``AppStoreVerificationError`` if Apple did not sign the text.
    public func learn(from text: [UInt8]) throws(AppStoreVerificationError) {
        let signed = JSONObject(text).map { $0.string("signedPayload").map { Array($0.utf8) } ?? [] }
        try self.notifications.learn(from: signed ?? SignedTextKind.trimmed(text))
    }

    func learn(_ certificates: [SigningCertificates]) {
        self.notifications.learn(certificates, at: Int(Date.now.timeIntervalSince1970))
    }

    func whenNewCertificates(_ body: @escaping @Sendable (SigningCertificates) -> Void) {
        self.notifications.whenNewCertificates(body)
    }
}
