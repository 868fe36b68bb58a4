internal import FerryCore
internal import FerryPlatform

/// The certificates that a new verifier knows before its first post.
///
/// A check of unknown certificates costs 2 ms, and anybody can send new certificates without end. So the verifier
/// makes no further checks in a second after a hundred failed checks. During such a flood, the verifier may refuse
/// genuine posts with unknown certificates. Posts with known certificates are not affected.
extension AppStoreVerifier {
    /// Remembers the certificates of a text that Apple signed for any app: a notification, a transaction or a renewal.
    /// `text` is the body of a post, or the signed text alone.
    ///
    /// With an ``AppStoreStore``, this call helps only while the file does not have these certificates. At each
    /// start, the store gives the verifier of its receiver the certificates of the file.
    ///
    /// - Throws: ``AppStoreVerificationError`` if the text cannot be read or verified.
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
