internal import FerryAppStore
internal import FerryHTTP1

/// The calls about purchases. What they return is in the notifications that were made: a purchase without a notification
/// does not exist here.
extension AppStoreAPI {
    /// "Get All Subscription Statuses": the present state, which is that of the notification that was signed last.
    func subscriptions(
        _ transaction: String,
        _ records: [NotificationSender.Record]
    ) throws(AppStoreAPIError) -> HTTPServerAnswer {
        try HistoryFilter.checkTransaction(transaction)
        let latest = records.lazy.map(\.notification)
            .filter { $0.transactions.contains(transaction) && $0.data("signedRenewalInfo") != nil }
            .max { $0.signedDate < $1.signedDate }
        guard let latest else { throw .noTransaction }
        return HTTPServerAnswer(
            200,
            [
                "environment": .text(self.environment.rawValue),
                "bundleId": .text(self.app.bundleID),
                "appAppleId": self.environment == .production ? self.app.appAppleID.map(SimulatedJSON.integer) : nil,
                "data": [
                    [
                        "subscriptionGroupIdentifier": "21482456",
                        "lastTransactions": [
                            [
                                "originalTransactionId": latest.customer.map(SimulatedJSON.text),
                                "status": .integer(latest.kind.status),
                                "signedTransactionInfo": latest.data("signedTransactionInfo"),
                                "signedRenewalInfo": latest.data("signedRenewalInfo"),
                            ]
                        ],
                    ]
                ],
            ]
        )
    }

    /// "Get Transaction History": the transactions of a customer, the oldest first. `revision` is the number of those that
    /// earlier pages had.
    func transactions(
        _ transaction: String,
        _ revision: String?,
        _ records: [NotificationSender.Record]
    ) throws(AppStoreAPIError) -> HTTPServerAnswer {
        try HistoryFilter.checkTransaction(transaction)
        guard let first = Int(revision ?? "0"), first >= 0 else { throw .badRequest }
        let notifications = records.map(\.notification)
        guard let customer = notifications.last(where: { $0.transactions.contains(transaction) })?.customer else {
            throw .noTransaction
        }
        let texts = notifications.filter { $0.customer == customer }.sorted { $0.signedDate < $1.signedDate }
            .compactMap { $0.data("signedTransactionInfo") }
        let page = Array(texts.dropFirst(first).prefix(Self.pageSize))
        return HTTPServerAnswer(
            200,
            [
                "revision": .text(String(min(first, texts.count) + page.count)),
                "hasMore": .bool(texts.count > first + page.count),
                "bundleId": .text(self.app.bundleID),
                "appAppleId": self.app.appAppleID.map(SimulatedJSON.integer),
                "environment": .text(self.environment.rawValue),
                "signedTransactions": .list(page),
            ]
        )
    }
}

extension SimulatedNotification {
    /// A member of `data`; nil in version 1 and in other kinds of notifications.
    fileprivate func data(_ name: String) -> SimulatedJSON? {
        guard case .version2(name: "data", .object(let members)) = self.content else { return nil }
        return members.value(name)
    }
}
