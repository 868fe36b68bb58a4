internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform

/// The verification of a post, without I/O. The cheap checks are made first, so that a flood of forged posts costs
/// little.
struct NotificationVerifier: Sendable {
    /// A notification, and the certificates that signed its parts.
    struct Verified {
        var notification: AppStoreNotification
        var chains: [SigningChain]
    }

    private let apps: [String: AppStoreApp]
    private let takesAnyApp: Bool
    private let environments: Set<AppStoreEnvironment>
    private let signatures: SignatureVerifier
    private let version1: Version1Verifier?

    /// - Parameter now: the clock of the limit on checks of bad certificates.
    init(
        _ configuration: AppStoreVerifier.Configuration,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) throws(TLSError) {
        self.apps = Dictionary(configuration.apps.map { ($0.bundleID, $0) }) { $1 }
        self.takesAnyApp = configuration.takesAnyApp
        self.environments = configuration.environments
        self.signatures = try SignatureVerifier(configuration.trustRoots, now: now)
        self.version1 = configuration.sharedSecrets.isEmpty ? nil : Version1Verifier(configuration.sharedSecrets)
    }

    /// Verifies the body of a post, in either version.
    func verify(post body: [UInt8]) throws(AppStoreVerificationError) -> Verified {
        guard let post = JSONObject(body) else {
            throw AppStoreVerificationError(.malformed, "The body is not one JSON object.")
        }
        if let signed = post.string("signedPayload") { return try self.verify(signedPayload: Array(signed.utf8)) }
        guard post.has("notification_type") else {
            throw AppStoreVerificationError(.malformed, "The body has no signedPayload.")
        }
        guard let version1 else {
            throw AppStoreVerificationError(
                .malformed,
                "The body is a notification of version 1, which is off. Choose version 2 in App Store Connect, or give the "
                    + "shared secret."
            )
        }
        let notification = try version1.verify(post)
        try self.checkAddress(
            bundleID: notification.bundleID,
            appAppleID: nil,
            environment: notification.environment,
            version: .one,
            place: "The notification"
        )
        return Verified(notification: notification, chains: [])
    }

    /// Verifies the text of a notification of version 2.
    ///
    /// - Parameter isInvited: see ``SignatureVerifier/verify(_:isInvited:)``.
    func verify(
        signedPayload: [UInt8],
        isInvited: Bool = false
    ) throws(AppStoreVerificationError) -> Verified {
        let outer = try self.signatures.read(signedPayload, place: "signedPayload")
        let content: Content
        do {
            content = try self.content(outer.payload)
        } catch {
            guard error.code == .malformed else { throw error }
            // The post has an unknown form. If its signature is genuine, the error becomes `notUnderstood`, and the
            // answer 500. Apple then repeats the notification, and a later version of Ferry may know its form. After a
            // 400, Apple may not repeat the notification.
            _ = try self.signatures.verify(outer, isInvited: isInvited)
            throw AppStoreVerificationError(.notUnderstood, error.description)
        }
        // The outer signature is checked before the texts inside. Otherwise anybody could make this receiver read many
        // texts.
        let signature = try self.signatures.verify(outer, isInvited: isInvited)
        let nested = try content.signed.map { name, text throws(AppStoreVerificationError) in
            let nested = try self.readNested(text, of: name)
            try self.check(nested.payload, of: name, content)
            return (name: name, text: nested)
        }
        var objects: [String: [UInt8]] = [:]
        var chains = [signature.chain]
        var customer: String?
        for (name, text) in nested {
            let signed = try self.signatures.verify(text, isInvited: isInvited)
            objects[name] = signed.payload.text
            chains.append(signed.chain)
            customer =
                customer ?? signed.payload.string("originalTransactionId")
                ?? signed.payload.string("appTransactionId")
        }
        guard let uuid = outer.payload.string("notificationUUID"), Self.isKey(uuid),
            let type = outer.payload.string("notificationType"), !type.isEmpty
        else {
            throw AppStoreVerificationError(
                .notUnderstood,
                "signedPayload is genuine, and has no notificationUUID or notificationType."
            )
        }
        let notification = AppStoreNotification(
            uuid: uuid,
            type: AppStoreNotificationType(rawValue: type),
            subtype: outer.payload.string("subtype"),
            version: .two,
            signedDate: Date(milliseconds: signature.date),
            environment: content.environment,
            bundleID: content.bundleID,
            appAppleID: content.appAppleID,
            customer: customer ?? content.externalPurchaseID,
            json: PlainJSON.make(outer.payload, in: content.name, replacing: objects)
        )
        return Verified(notification: notification, chains: chains)
    }

    /// Reads a signed text inside a genuine notification. For a text of an unknown form, it throws `notUnderstood`, so
    /// that Apple repeats the notification. A later version of Ferry may know the form.
    private func readNested(
        _ text: String,
        of name: String
    ) throws(AppStoreVerificationError) -> SignatureVerifier.Unverified {
        do {
            return try self.signatures.read(text.utf8, place: name.shown)
        } catch {
            throw error.code == .malformed ? AppStoreVerificationError(.notUnderstood, error.description) : error
        }
    }

    /// Verifies a signed text that is not part of a notification.
    ///
    /// - Parameter isInvited: see ``SignatureVerifier/verify(_:isInvited:)``.
    func verify(
        signedObject: [UInt8],
        place: String,
        isInvited: Bool = false
    ) throws(AppStoreVerificationError) -> SignatureVerifier.Signed {
        let text = try self.signatures.read(signedObject, place: place)
        // A renewal names no app.
        if let bundleID = text.payload.string("bundleId"), self.apps[bundleID] == nil, !self.takesAnyApp {
            throw AppStoreVerificationError(.otherApp, "\(place) is for an app that is not served here (bundleId).")
        }
        let environment = text.payload.string("environment") ?? text.payload.string("receiptType")
        guard let environment else {
            throw AppStoreVerificationError(.malformed, "\(place) has no environment.")
        }
        guard self.environments.contains(AppStoreEnvironment(rawValue: environment)) else {
            throw AppStoreVerificationError(
                .otherEnvironment,
                "\(place) is of an environment that is not served here (environment)."
            )
        }
        return try self.signatures.verify(text, isInvited: isInvited)
    }

    /// Verifies the signature of a text that Apple signed for any app, and remembers its certificates.
    func learn(from text: [UInt8]) throws(AppStoreVerificationError) {
        _ = try self.signatures.verify(self.signatures.read(text, place: "The signed text"), isInvited: true)
    }

    func learn(_ certificates: [SigningCertificates], at seconds: Int) {
        self.signatures.learn(certificates, at: seconds)
    }

    func whenNewCertificates(_ body: @escaping @Sendable (SigningCertificates) -> Void) {
        self.signatures.whenNew(body)
    }

    /// Whether a text can be a key: 1 to 64 printable characters of ASCII, without a space.
    private static func isKey(_ uuid: String) -> Bool {
        1...64 ~= uuid.utf8.count && uuid.utf8.allSatisfy { 0x21...0x7e ~= $0 }
    }

    // MARK: The app and environment

    /// The part of a payload that names the app and the environment.
    private struct Content {
        /// The name of this part.
        var name: String
        var bundleID: String
        var appAppleID: Int64?
        var environment: AppStoreEnvironment
        var externalPurchaseID: String?
        /// The signed texts inside, by their names.
        var signed: [(String, String)] = []
    }

    /// Returns the part that names the app. Throws `otherApp` or `otherEnvironment` if the app or environment is not
    /// served here, or `malformed` if the payload does not name them.
    private func content(_ payload: JSONObject) throws(AppStoreVerificationError) -> Content {
        let known = ["data", "summary", "externalPurchaseToken", "appData"]
        // Every kind of notification has an object with a bundleId. All objects are searched, so that kinds that
        // Apple adds later are found, too.
        let names = known + payload.members.map(\.name).filter { !known.contains($0) }
        for name in names {
            guard let object = payload.object(name), let bundleID = object.string("bundleId") else { continue }
            let purchaseID = object.string("externalPurchaseId")
            // "externalPurchaseId […] begins with SANDBOX in the sandbox" (externalPurchaseToken, Apple)
            let told = purchaseID.map { $0.hasPrefix("SANDBOX") ? "Sandbox" : "Production" }
            guard let environment = object.string("environment") ?? told else {
                throw AppStoreVerificationError(.malformed, "\(name.shown) has no environment.")
            }
            let content = Content(
                name: name,
                bundleID: bundleID,
                appAppleID: object.integer("appAppleId"),
                environment: AppStoreEnvironment(rawValue: environment),
                externalPurchaseID: purchaseID,
                signed: Self.signedTexts(object)
            )
            try self.checkAddress(
                bundleID: bundleID,
                appAppleID: content.appAppleID,
                environment: content.environment,
                place: name.shown
            )
            return content
        }
        throw AppStoreVerificationError(.malformed, "signedPayload names no app (bundleId).")
    }

    /// The signed texts of an object. Apple may add other members whose names begin with `signed`. A member with an
    /// unknown name counts only if its text has three parts.
    private static func signedTexts(_ object: JSONObject) -> [(String, String)] {
        object.members.compactMap { member in
            guard PlainJSON.isSigned(member.name), let text = object.string(member.name),
                PlainJSON.knownSigned.contains(member.name) || text.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2
            else { return nil }
            return (member.name, text)
        }
    }

    private func checkAddress(
        bundleID: String,
        appAppleID: Int64?,
        environment: AppStoreEnvironment,
        version: AppStoreNotification.Version = .two,
        place: String
    ) throws(AppStoreVerificationError) {
        guard let app = self.apps[bundleID] ?? (self.takesAnyApp ? AppStoreApp(bundleID: bundleID) : nil) else {
            throw AppStoreVerificationError(.otherApp, "\(place) is for an app that is not served here (bundleId).")
        }
        // The sandbox and version 1 have no `appAppleId`.
        let isRequired = environment == .production && version == .two
        if let wanted = app.appAppleID, isRequired || appAppleID != nil, appAppleID != wanted {
            throw AppStoreVerificationError(.otherApp, "\(place) is for an app with another number (appAppleId).")
        }
        guard self.environments.contains(environment) else {
            throw AppStoreVerificationError(
                .otherEnvironment,
                "\(place) is of an environment that is not served here (environment)."
            )
        }
    }

    /// Checks that a signed text belongs to the notification around it.
    private func check(
        _ payload: JSONObject,
        of name: String,
        _ content: Content
    ) throws(AppStoreVerificationError) {
        // A renewal names no app.
        if let bundleID = payload.string("bundleId"), bundleID != content.bundleID {
            throw AppStoreVerificationError(
                .forged,
                "\(name.shown) is for another app than the notification (bundleId)."
            )
        }
        let environment = payload.string("environment") ?? payload.string("receiptType")
        if let environment, environment != content.environment.rawValue {
            throw AppStoreVerificationError(.forged, "\(name.shown) is of another environment than the notification.")
        }
    }
}

extension String {
    /// The name of a member, as a sentence may show it. The sender chooses the names in a forged post, and sentences
    /// are written to logs. So only a name of at most 40 letters is shown.
    fileprivate var shown: String {
        let isName =
            self.utf8.count <= 40
            && self.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                default: false
                }
            }
        return isName ? self : "a member"
    }
}
