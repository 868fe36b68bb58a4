internal import FerryCore
public import FerryOpenSSL

/// A verifier of App Store Server Notifications, for several apps and both environments.
///
/// Safe from any thread; one verifier can serve the whole program. No setting skips the signature of version 2.
public final class AppStoreVerifier: Sendable {
    /// The apps, environments and proofs that a verifier accepts.
    public struct Configuration: Sendable {
        /// The apps whose notifications are accepted.
        public var apps: [AppStoreApp]
        /// The environments whose notifications are accepted.
        public var environments: Set<AppStoreEnvironment> = [.production, .sandbox]
        /// The root certificates of Apple's signatures.
        public var trustRoots = AppStoreTrustRoots.apple
        /// The shared secrets that prove notifications of version 1. If empty, version 1 is refused.
        public var sharedSecrets: [String] = []
        /// Whether the methods `verifyOnline` check by OCSP that Apple has not revoked the certificates. An answer is
        /// used for at most 15 minutes. If true, the certificates must also be valid at the present time, because
        /// responders may not know expired certificates.
        public var checksRevocation = false

        /// Whether every app is accepted, so that a person can inspect a single notification of any app.
        package var takesAnyApp = false

        /// Makes a configuration that accepts both environments, version 2 only, and signatures under Apple's root.
        /// Revocation is not checked.
        public init(apps: [AppStoreApp]) { self.apps = apps }
    }

    let notifications: NotificationVerifier
    /// Whether notifications of version 1 are accepted.
    let takesVersion1: Bool
    /// The check of revocation; nil if it is switched off.
    let revocation: RevocationChecker?

    /// - Throws: ``TLSError`` when the trust roots cannot be read, or when no client for OCSP can be made.
    public convenience init(_ configuration: Configuration) throws(TLSError) {
        try self.init(configuration) { .now }
    }

    /// - Parameter now: the clock of the limit on checks of bad certificates.
    init(
        _ configuration: Configuration,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) throws(TLSError) {
        self.notifications = try NotificationVerifier(configuration, now: now)
        self.takesVersion1 = !configuration.sharedSecrets.isEmpty
        self.revocation = configuration.checksRevocation ? try RevocationChecker() : nil
    }

    /// Verifies the body of a post of the App Store, in either version. Revocation is not checked.
    ///
    /// Cost: 0.3 ms for 19 KB, and 2 ms more for certificates that the verifier does not remember.
    public func verify(post body: [UInt8]) throws(AppStoreVerificationError) -> AppStoreNotification {
        try self.notifications.verify(post: body).notification
    }

    /// Verifies the text of `signedPayload`: a notification of version 2, as a post and the notification history
    /// contain it.
    public func verify(signedPayload: String) throws(AppStoreVerificationError) -> AppStoreNotification {
        try self.notifications.verify(signedPayload: Array(signedPayload.utf8)).notification
    }

    /// Verifies a signed transaction or renewal, as answers of the App Store Server API have them.
    ///
    /// A transaction names its app, which must be served here. A renewal names no app. The environment must be
    /// served, too.
    public func verify(signedObject: String) throws(AppStoreVerificationError) -> AppStoreSignedObject {
        let text = Array(signedObject.utf8)
        let verified = try self.notifications.verify(signedObject: text, place: "The signed text")
        return AppStoreSignedObject(json: verified.payload.text)
    }
}
