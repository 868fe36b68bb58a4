internal import FerryCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Which notifications of the history are wanted.
///
/// Source: "Get Notification History" (App Store Server API, Apple).
public struct AppStoreHistoryQuery: Hashable, Sendable {
    /// Apple takes one filter only.
    @nonexhaustive
    public enum Filter: Hashable, Sendable {
        /// All notifications of the window.
        case all
        /// The notifications about one customer: any of their transaction identifiers.
        case transaction(String)
        /// The notifications of one type. A nil subtype: of any subtype. Apple refuses a pair that it does not know with
        /// ``AppStoreServerError/Code/invalidNotificationType``.
        case type(AppStoreNotificationType, subtype: String? = nil)
    }

    /// Included.
    public var start: Date
    /// Not included.
    public var end: Date
    /// The filter within the window from ``start`` to ``end``.
    public var filter: Filter
    /// Only those that no server has taken, also those that Apple will still send again.
    public var onlyFailures: Bool

    /// Makes a query. Its dates are not checked here: Apple refuses a window with errors such as
    /// ``AppStoreServerError/Code/startDateAfterEndDate`` and ``AppStoreServerError/Code/startDateTooFarInPast``.
    public init(from start: Date, to end: Date, filter: Filter = .all, onlyFailures: Bool = false) {
        self.start = start
        self.end = end
        self.filter = filter
        self.onlyFailures = onlyFailures
    }

    /// How long Apple keeps notifications: 180 days, in the sandbox 30.
    public static func reach(_ environment: AppStoreEnvironment) -> Duration {
        .seconds(86_400 * (environment == .production ? 180 : 30))
    }

    /// The request's body. It must be the same for each page.
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
    /// What Apple signed. Apple's text, not verified.
    public let signedPayload: String
    /// The attempts to send it, in Apple's order.
    public let attempts: [AppStoreSendAttempt]
    /// The notification, or why it was refused.
    public let notification: Result<AppStoreNotification, AppStoreVerificationError>
}

/// A page of the history: at most 20 notifications.
public struct AppStoreHistoryPage: Sendable {
    /// The notifications in Apple's order. Refused ones are among them, each with its reason.
    public let items: [AppStoreHistoryItem]
    /// The token of the next page; nil: this is the last.
    public let nextPage: String?
}

/// A test notification, as Apple sent it.
public struct AppStoreTestNotification: Sendable {
    /// The attempts to send it.
    public let attempts: [AppStoreSendAttempt]
    /// What was sent.
    public let notification: AppStoreNotification
    /// The notification that was sent, as Apple signed it.
    package let signedPayload: String
}
