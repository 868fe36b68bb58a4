public import FerryOpenSSL

/// A verifier of App Store Server Notifications, for several apps and both environments.
///
/// Safe from any thread; one serves all. There is no mode that skips the signature.
public final class AppStoreVerifier: Sendable {
    /// What a verifier accepts.
    public struct Configuration: Sendable {
        /// The apps that are served.
        public var apps: [AppStoreApp]
        /// The environments that are served.
        public var environments: Set<AppStoreEnvironment> = [.production, .sandbox]
        /// The roots of the signatures.
        public var trustRoots = AppStoreTrustRoots.apple
        /// The shared secrets that prove notifications of version 1. Empty: version 1 is refused.
        public var sharedSecrets: [String] = []
        /// Whether the methods `verifyOnline` ask Apple whether it revoked the certificates, by OCSP. Each answer is used for
        /// 15 minutes. Certificates must then be valid now, too: of older ones nothing is known.
        public var checksRevocation = false

        /// Whether every app counts: for a person who looks at one notification.
        package var takesAnyApp = false

        /// Accepts both environments, signed under Apple's root, in version 2 only, and asks nobody about revocation.
        public init(apps: [AppStoreApp]) { self.apps = apps }
    }

    let notifications: NotificationVerifier
    /// Whether notifications of version 1 count.
    let takesVersion1: Bool
    /// Nil: revocation is not asked for.
    let revocation: RevocationChecker?

    /// - Throws: ``TLSError`` when the trust roots cannot be read.
    public convenience init(_ configuration: Configuration) throws(TLSError) {
        try self.init(configuration) { .now }
    }

    /// - Parameter now: the clock that bounds how often bad certificates are looked at.
    init(
        _ configuration: Configuration,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) throws(TLSError) {
        self.notifications = try NotificationVerifier(configuration, now: now)
        self.takesVersion1 = !configuration.sharedSecrets.isEmpty
        self.revocation = configuration.checksRevocation ? try RevocationChecker() : nil
    }

    /// Verifies the body of a post of the App Store, in either version. Asks nobody about revocation.
    ///
    /// Cost: 0.3 ms for 19 KB, and 2 ms for certificates that are seen for the first time.
    public func verify(post body: [UInt8]) throws(AppStoreVerificationError) -> AppStoreNotification {
        try self.notifications.verify(post: body).notification
    }

    /// Verifies the text of `signedPayload`: a notification of version 2, as a post and the notification history have it.
    public func verify(signedPayload: String) throws(AppStoreVerificationError) -> AppStoreNotification {
        try self.notifications.verify(signedPayload: Array(signedPayload.utf8)).notification
    }

    /// Verifies a signed transaction or renewal, as answers of the App Store Server API have them.
    ///
    /// A transaction names its app, which must be served here. A renewal names none.
    public func verify(signedObject: String) throws(AppStoreVerificationError) -> AppStoreSignedObject {
        let text = Array(signedObject.utf8)
        let verified = try self.notifications.verify(signedObject: text, place: "The signed text")
        return AppStoreSignedObject(json: verified.payload.text)
    }
}
