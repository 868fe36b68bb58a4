internal import FerryCore

extension AppStoreVerifier {
    /// Verifies the body of a post as ``verify(post:)`` does. If ``Configuration/checksRevocation`` is set, the call
    /// then checks that no certificate was revoked.
    ///
    /// Cost: with this check, up to 2 s if no recent answer about the certificates is kept.
    ///
    /// - Throws: also `forged` for a certificate that is revoked, has expired or names no OCSP responder; `tryAgain`
    ///   if a responder gives no usable answer.
    public func verifyOnline(post body: [UInt8]) async throws(AppStoreVerificationError) -> AppStoreNotification {
        let verified = try self.notifications.verify(post: body)
        try await self.revocation?.check(verified.chains)
        return verified.notification
    }

    /// Verifies the text of `signedPayload` as ``verify(signedPayload:)`` does. If ``Configuration/checksRevocation``
    /// is set, the call then checks that no certificate was revoked.
    ///
    /// - Throws: also `forged` for a certificate that is revoked, has expired or names no OCSP responder; `tryAgain`
    ///   if a responder gives no usable answer.
    public func verifyOnline(
        signedPayload: String
    ) async throws(AppStoreVerificationError) -> AppStoreNotification {
        let verified = try self.notifications.verify(signedPayload: Array(signedPayload.utf8))
        try await self.revocation?.check(verified.chains)
        return verified.notification
    }

    /// Verifies a signed transaction or renewal as ``verify(signedObject:)`` does. If
    /// ``Configuration/checksRevocation`` is set, the call then checks that no certificate was revoked.
    ///
    /// - Throws: also `forged` for a certificate that is revoked, has expired or names no OCSP responder; `tryAgain`
    ///   if a responder gives no usable answer.
    public func verifyOnline(
        signedObject: String
    ) async throws(AppStoreVerificationError) -> AppStoreSignedObject {
        try await self.verifyOnline(signedObject: signedObject, place: "The signed text")
    }

    /// Verifies a text as ``verifyOnline(signedPayload:)`` does. The text comes from the owner or from Apple's own
    /// server. So the limit on checks of bad certificates does not apply to it.
    package func verifyInvited(
        signedPayload: String
    ) async throws(AppStoreVerificationError) -> AppStoreNotification {
        let verified = try self.notifications.verify(signedPayload: Array(signedPayload.utf8), isInvited: true)
        try await self.revocation?.check(verified.chains)
        return verified.notification
    }

    /// - Parameters:
    ///   - place: the name of the text in sentences of errors. It is a member, or `The signed text`.
    ///   - isInvited: true if the text comes from the owner or from Apple's own server. The limit on checks of bad
    ///     certificates does not apply to such a text.
    func verifyOnline(
        signedObject: String,
        place: String,
        isInvited: Bool = false
    ) async throws(AppStoreVerificationError) -> AppStoreSignedObject {
        let verified = try self.notifications.verify(
            signedObject: Array(signedObject.utf8),
            place: place,
            isInvited: isInvited
        )
        try await self.revocation?.check([verified.chain])
        return AppStoreSignedObject(json: verified.payload.text)
    }
}
