internal import FerryAppStore
internal import FerryPlatform

/// What a request asks of the notification history.
///
/// Source: the page "NotificationHistoryRequest" of the App Store Server API.
struct HistoryFilter: Hashable, Sendable {
    /// "The startDate needs to be within the past 180 days; in the sandbox, 30 days" (Apple)
    static func longestAge(_ environment: AppStoreEnvironment) -> Double {
        environment == .production ? 180 * 86_400 : 30 * 86_400
    }

    private struct Body: Decodable {
        var startDate: Int64?
        var endDate: Int64?
        var notificationType: String?
        var notificationSubtype: String?
        var onlyFailures: Bool?
        var transactionId: String?
    }

    let start: Date
    let end: Date
    let kind: SimulatedNotification.Kind?
    let transaction: String?
    let onlyFailures: Bool

    /// - Parameter now: the time of the App Store's clock.
    init(_ body: [UInt8], environment: AppStoreEnvironment, now: Date) throws(AppStoreAPIError) {
        let body = try Self.decode(body)
        guard let start = body.startDate, start >= 0 else { throw .invalidStart }
        guard let end = body.endDate, end >= 0 else { throw .invalidEnd }
        guard start <= end else { throw .startAfterEnd }
        self.start = Date(millisecondsSince1970: start)
        self.end = Date(millisecondsSince1970: end)
        // A client computes the earliest start before it sends it.
        let slack = 600.0
        guard now.timeIntervalSince(self.start) <= Self.longestAge(environment) + slack else { throw .startTooEarly }
        guard body.transactionId == nil || body.notificationType == nil else { throw .severalFilters }
        if let transaction = body.transactionId { try Self.checkTransaction(transaction) }
        self.transaction = body.transactionId
        self.kind = try Self.kind(body)
        self.onlyFailures = body.onlyFailures ?? false
    }

    private static func decode(_ body: [UInt8]) throws(AppStoreAPIError) -> Body {
        do {
            return try JSONDecoder().decode(Body.self, from: Data(body))
        } catch DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context) {
            throw switch context.codingPath.first?.stringValue {
            case "startDate": .invalidStart
            case "endDate": .invalidEnd
            case "notificationType", "notificationSubtype": .invalidType
            case "transactionId": .invalidTransaction
            default: .badRequest
            }
        } catch {
            throw .badRequest
        }
    }

    static func checkTransaction(_ text: String) throws(AppStoreAPIError) {
        guard 1...20 ~= text.utf8.count, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { throw .invalidTransaction }
    }

    private static func kind(_ body: Body) throws(AppStoreAPIError) -> SimulatedNotification.Kind? {
        guard let type = body.notificationType else {
            guard body.notificationSubtype == nil else { throw .invalidType }
            return nil
        }
        let kind = SimulatedNotification.Kind(AppStoreNotificationType(rawValue: type), body.notificationSubtype)
        let isKnown = SimulatedNotification.Kind.version2.contains { known in
            known.type == kind.type && (kind.subtype == nil || known.subtype == kind.subtype)
        }
        guard isKnown else { throw .invalidType }
        return kind
    }

    /// Whether the history has this notification. Version 1 is not in it ("Get Notification History", Apple).
    func matches(_ record: NotificationSender.Record) -> Bool {
        let notification = record.notification
        guard notification.version == .two, !record.attempts.isEmpty else { return false }
        guard self.start...self.end ~= Date(millisecondsSince1970: notification.signedDate.millisecondsSince1970) else {
            return false
        }
        // Failures include what is still being sent again.
        if self.onlyFailures, record.isDelivered { return false }
        if let transaction, !notification.transactions.contains(transaction) { return false }
        guard let kind else { return true }
        return notification.kind.type == kind.type
            && (kind.subtype == nil || kind.subtype == notification.kind.subtype)
    }
}
