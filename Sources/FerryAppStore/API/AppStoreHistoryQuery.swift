internal import FerryCore
public import FerryPlatform

/// A selection of notifications in the history.
///
/// Source: "Get Notification History" (App Store Server API, Apple).
public struct AppStoreHistoryQuery: Hashable, Sendable {
    /// The filter of a query. Apple accepts only one filter in a query.
    @nonexhaustive
    public enum Filter: Hashable, Sendable {
        /// All notifications of the window.
        case all
        /// The notifications about one customer. Any transaction identifier of the customer may be given.
        case transaction(String)
        /// The notifications of one type. A nil subtype selects all subtypes. Apple refuses an unknown pair with
        /// ``AppStoreServerError/Code/invalidNotificationType``.
        case type(AppStoreNotificationType, subtype: String? = nil)
    }

    /// The start of the window, included.
    public var start: Date
    /// The end of the window, not included.
    public var end: Date
    /// The filter within the window from ``start`` to ``end``.
    public var filter: Filter
    /// Whether to return only notifications that no server has accepted. These include notifications that Apple will
    /// still repeat.
    public var onlyFailures: Bool

    /// Makes a query. The dates are not checked here. Apple refuses a wrong window with errors such as
    /// ``AppStoreServerError/Code/startDateAfterEndDate`` and ``AppStoreServerError/Code/startDateTooFarInPast``.
    public init(from start: Date, to end: Date, filter: Filter = .all, onlyFailures: Bool = false) {
        self.start = start
        self.end = end
        self.filter = filter
        self.onlyFailures = onlyFailures
    }

    /// The time for which Apple keeps notifications: 180 days in production, 30 days in every other environment.
    public static func reach(_ environment: AppStoreEnvironment) -> Duration {
        .seconds(86_400 * (environment == .production ? 180 : 30))
    }

    /// The body of the request. The body must be the same for each page of one history.
    var json: [UInt8] {
        var json = Array("{\"startDate\":\(self.start.milliseconds),\"endDate\":\(self.end.milliseconds)".utf8)
        func add(_ name: String, _ value: String) {
            json += Array(",\"\(name)\":".utf8) + JSONText.quoted(value)
        }
        switch self.filter {
        case .all: break
        case .transaction(let identifier): add("transactionId", identifier)
        case .type(let type, let subtype):
            add("notificationType", type.rawValue)
            if let subtype { add("notificationSubtype", subtype) }
        }
        if self.onlyFailures { json += Array(",\"onlyFailures\":true".utf8) }
        return json + [UInt8(ascii: "}")]
    }
}

/// One notification of the history.
public struct AppStoreHistoryItem: Sendable {
    /// The text that Apple signed, not verified; empty if Apple's answer has none. ``notification`` has the result of
    /// the verification.
    public let signedPayload: String
    /// The attempts of the App Store to send the notification, in Apple's order.
    public let attempts: [AppStoreSendAttempt]
    /// The verified notification, or the reason why the verifier refused ``signedPayload``.
    public let notification: Result<AppStoreNotification, AppStoreVerificationError>
}

/// A page of the history: at most 20 notifications.
public struct AppStoreHistoryPage: Sendable {
    /// The notifications in Apple's order. A refused notification is included, with the reason.
    public let items: [AppStoreHistoryItem]
    /// The token of the next page; nil for the last page.
    public let nextPage: String?
}

/// A test notification, as Apple sent it.
public struct AppStoreTestNotification: Sendable {
    /// The attempts of the App Store to send the notification.
    public let attempts: [AppStoreSendAttempt]
    /// The test notification.
    public let notification: AppStoreNotification
    /// The signed text of the test notification.
    package let signedPayload: String
}
