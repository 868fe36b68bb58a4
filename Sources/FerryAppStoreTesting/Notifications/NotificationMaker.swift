public import FerryAppStore
internal import FerryMachine
public import FerryOpenSSL
public import FerryPlatform

/// A maker of notifications of the App Store, in both versions and environments, for one app.
///
/// What notifications say depends on the seed, the order of the calls and their dates. Signatures differ each time, because
/// ECDSA has a random part.
///
/// ```swift
/// var maker = try NotificationMaker(app: AppStoreApp(bundleID: "com.example.app", appAppleID: 1_234_567_890))
/// let renewal = try maker.make(.init(.didRenew))            // renewal.post is the body of a post
/// let all = try SimulatedNotification.Kind.version2.map { kind in try maker.make(kind) }
/// ```
///
/// The sizes are about those of Apple: a post of 4 KB for TEST, of 18 KB for a subscription.
public struct NotificationMaker: Sendable {
    /// The signer. Verifiers must trust its root.
    public let signer: AppStoreSigner
    /// The app that the notifications are about.
    public let app: AppStoreApp
    /// The environment in the notifications.
    public var environment: AppStoreEnvironment
    /// The shared secret of notifications of version 1: their `password`.
    public var sharedSecret = "0123456789abcdef0123456789abcdef"
    /// How many transactions a receipt of version 1 lists, 1 to 100. With 100, a post has more than 50 KB.
    public var version1Transactions = 3
    var values: NotificationValues

    /// - Parameters:
    ///   - app: the app. Without a number, one is made up.
    ///   - environment: the environment of all notifications.
    ///   - signer: nil: a new one, with certificates of its own.
    ///   - seed: decides identifiers and values.
    /// - Throws: `TLSError` with `internalFailure`.
    public init(
        app: AppStoreApp,
        environment: AppStoreEnvironment = .production,
        signer: AppStoreSigner? = nil,
        seed: UInt64 = 0
    ) throws(TLSError) {
        var app = app
        app.appAppleID = app.appAppleID ?? 1_234_567_890
        self.app = app
        self.environment = environment
        self.signer = if let signer { signer } else { try AppStoreSigner() }
        self.values = NotificationValues(seed: seed)
    }

    /// Makes a notification of version 2.
    ///
    /// - Parameters:
    ///   - kind: its type and subtype.
    ///   - customer: the original transaction of an earlier notification, for another one about the same purchase.
    ///   - date: when it is signed.
    /// - Throws: `TLSError` with `internalFailure`.
    public mutating func make(
        _ kind: SimulatedNotification.Kind,
        customer: String? = nil,
        at date: Date = Date()
    ) throws(TLSError) -> SimulatedNotification {
        let purchase = self.values.purchase(customer: customer, at: date)
        let (name, value) = try self.content(kind, purchase)
        return try self.signer.notification(
            kind,
            uuid: self.values.uuid(),
            signedDate: date,
            environment: self.environment,
            purchase: purchase,
            content: (name, value)
        )
    }

    /// Makes one notification of each kind of version 2.
    ///
    /// - Throws: `TLSError` with `internalFailure`.
    public mutating func makeAll(at date: Date = Date()) throws(TLSError) -> [SimulatedNotification] {
        var all: [SimulatedNotification] = []
        for kind in SimulatedNotification.Kind.version2 { all.append(try self.make(kind, at: date)) }
        return all
    }

    /// Makes a notification of version 1: not signed, with ``sharedSecret``.
    public mutating func makeVersion1(
        _ kind: SimulatedNotification.Kind,
        at date: Date = Date()
    ) -> SimulatedNotification {
        let purchase = self.values.purchase(customer: nil, at: date)
        let content = Version1Content(
            kind,
            app: self.app,
            environment: self.environment,
            sharedSecret: self.sharedSecret,
            purchase: purchase,
            transactionCount: self.version1Transactions,
            receiptSeed: self.values.number()
        )
        return SimulatedNotification(
            version: .one,
            kind: kind,
            environment: self.environment,
            uuid: self.values.uuid(),
            signedDate: date,
            customer: purchase.original,
            transactions: [purchase.original, purchase.transaction],
            signedPayload: nil,
            content: .version1(content)
        )
    }
}

extension AppStoreSigner {
    func notification(
        _ kind: SimulatedNotification.Kind,
        uuid: String,
        signedDate: Date,
        environment: AppStoreEnvironment,
        purchase: NotificationValues.Purchase,
        content: (name: String, value: SimulatedJSON)
    ) throws(TLSError) -> SimulatedNotification {
        let (customer, transactions): (String?, [String]) =
            switch kind.shape {
            case .test, .summary: (nil, [])
            case .externalPurchaseToken: (purchase.externalPurchaseID(environment), [])
            case .appData: (purchase.appTransaction, [purchase.appTransaction])
            case .purchase, .subscription: (purchase.original, [purchase.original, purchase.transaction])
            }
        return SimulatedNotification(
            version: .two,
            kind: kind,
            environment: environment,
            uuid: uuid,
            signedDate: signedDate,
            customer: customer,
            transactions: transactions,
            signedPayload: try self.sign(kind, uuid: uuid, signedDate: signedDate, content: content),
            content: .version2(name: content.name, value: content.value)
        )
    }

    /// Returns a copy of a notification, as another sending has it.
    ///
    /// - Parameters:
    ///   - uuid: nil: the same.
    ///   - signedDate: nil: the same, and the same text with it. Of version 1, the receipt differs in any case.
    ///   - receiptSeed: another number makes another receipt.
    func copy(
        of notification: SimulatedNotification,
        uuid: String? = nil,
        signedDate: Date? = nil,
        receiptSeed: UInt64
    ) throws(TLSError) -> SimulatedNotification {
        let (newUUID, date) = (uuid ?? notification.uuid, signedDate ?? notification.signedDate)
        var content = notification.content
        var payload = notification.signedPayload
        switch notification.content {
        case .version1(let old): content = .version1(old.withReceipt(seed: receiptSeed))
        case .version2(let name, let value):
            if uuid != nil || signedDate != nil {
                payload = try self.sign(notification.kind, uuid: newUUID, signedDate: date, content: (name, value))
            }
        }
        return SimulatedNotification(
            version: notification.version,
            kind: notification.kind,
            environment: notification.environment,
            uuid: newUUID,
            signedDate: date,
            customer: notification.customer,
            transactions: notification.transactions,
            signedPayload: payload,
            content: content
        )
    }

    private func sign(
        _ kind: SimulatedNotification.Kind,
        uuid: String,
        signedDate: Date,
        content: (name: String, value: SimulatedJSON)
    ) throws(TLSError) -> String {
        var members = SimulatedJSON.Members()
        members.add("notificationType", .text(kind.type.rawValue))
        members.add("subtype", kind.subtype.map(SimulatedJSON.text))
        members.add("notificationUUID", .text(uuid))
        members.add(content.name, content.value)
        members.add("version", "2.0")
        members.add("signedDate", .integer(signedDate.millisecondsSince1970))
        return try self.sign(SimulatedJSON.object(members).bytes)
    }
}

extension Date {
    /// Apple's dates are milliseconds since 1970.
    var millisecondsSince1970: Int64 { Int64((self.timeIntervalSince1970 * 1000).rounded()) }

    init(millisecondsSince1970 milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
