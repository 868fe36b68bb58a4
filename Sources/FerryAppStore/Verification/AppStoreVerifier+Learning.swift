internal import FerryCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The certificates that a fresh verifier knows before the first post.
///
/// To look at unknown certificates costs 2 ms, and anybody can send ever new ones, so the verifier looks at a hundred bad ones in a
/// second. A flood then keeps genuine posts out whose certificates it has never seen. Certificates that it has seen are not
/// concerned.
extension AppStoreVerifier {
    /// Remembers the certificates of a text that Apple signed: a notification, a transaction or a renewal, for any app. `text` is
    /// the body of a post, or the signed text alone.
    ///
    /// An ``AppStoreStore`` does it by itself from its second start on.
    ///
    /// - Throws: ``AppStoreVerificationError`` if Apple did not sign it.
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
