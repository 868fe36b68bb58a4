internal import FerryCore
internal import FerryHTTP1
public import FerryPlatform

extension AppStoreServerClient {
    // MARK: Test notifications

    /// Asks Apple to send a test notification to the URL in App Store Connect. Returns the token for
    /// ``testNotification(_:)``.
    ///
    /// - Throws: ``AppStoreServerError``, with `noNotificationURL` if App Store Connect has no URL for the
    ///   environment.
    public func requestTestNotification() async throws(AppStoreServerError) -> String {
        // The client does not repeat a call that Apple may have processed. A repetition could cause a second test
        // notification.
        let call = Call(kind: .testNotification, path: "/inApps/v1/notifications/test", body: [], isIdempotent: false)
        let object = try await self.object(call)
        guard let token = object.string("testNotificationToken") else { throw ServerAnswer.misshapen(self.host) }
        return token
    }

    /// Returns a test notification, and Apple's attempts to send it. Takes the token of ``requestTestNotification()``.
    ///
    /// - Throws: ``AppStoreServerError``, with `testNotificationNotFound` until Apple has sent the notification or if
    ///   the token is unknown, and with `notVerified` if the verifier refuses the notification.
    public func testNotification(_ token: String) async throws(AppStoreServerError) -> AppStoreTestNotification {
        let object = try await self.object(
            Call(
                kind: .testNotificationStatus,
                path: "/inApps/v1/notifications/test/\(HTTPURL.encoded(token))"
            )
        )
        guard let payload = object.string("signedPayload") else { throw ServerAnswer.misshapen(self.host) }
        do {
            return AppStoreTestNotification(
                attempts: AppStoreSendAttempt.list(object),
                notification: try await self.verifier.verifyInvited(signedPayload: payload),
                signedPayload: payload
            )
        } catch {
            throw self.refused(error)
        }
    }

    // MARK: Histories

    /// Returns a page of the notifications that Apple sent. Each notification has the content of the first attempt to
    /// send it.
    ///
    /// A notification that the verifier refuses is part of the page, with the reason.
    ///
    /// - Parameters:
    ///   - query: the selection of notifications. Pass the same query for each page.
    ///   - page: the token ``AppStoreHistoryPage/nextPage`` of the previous page; nil for the first page.
    /// - Throws: ``AppStoreServerError``.
    public func notificationHistory(
        _ query: AppStoreHistoryQuery,
        page: String? = nil
    ) async throws(AppStoreServerError) -> AppStoreHistoryPage {
        let suffix = page.map { "?paginationToken=\(HTTPURL.encoded($0))" } ?? ""
        let object = try await self.object(
            Call(
                kind: .notificationHistory,
                path: "/inApps/v1/notifications/history\(suffix)",
                body: query.json
            )
        )
        guard let entries = object.objects("notificationHistory") else { throw ServerAnswer.misshapen(self.host) }
        var items: [AppStoreHistoryItem] = []
        for entry in entries {
            let payload = entry.string("signedPayload") ?? ""
            let notification: Result<AppStoreNotification, AppStoreVerificationError>
            do {
                notification = .success(try await self.verifier.verifyInvited(signedPayload: payload))
            } catch {
                notification = .failure(error)
            }
            items.append(
                AppStoreHistoryItem(
                    signedPayload: payload,
                    attempts: AppStoreSendAttempt.list(entry),
                    notification: notification
                )
            )
        }
        return AppStoreHistoryPage(items: items, nextPage: try self.nextPage(object, "paginationToken", after: page))
    }

    /// Returns a page of a customer's transactions.
    ///
    /// - Parameters:
    ///   - transaction: any transaction identifier of the customer.
    ///   - start: the earliest purchase date; nil for no limit.
    ///   - end: the end of the purchase dates, not included; nil for no limit.
    ///   - newestFirst: whether the newest transaction comes first.
    ///   - page: the token ``AppStoreTransactionPage/nextPage`` of the previous page; nil for the first page.
    public func transactionHistory(
        _ transaction: String,
        from start: Date? = nil,
        to end: Date? = nil,
        newestFirst: Bool = false,
        page: String? = nil
    ) async throws(AppStoreServerError) -> AppStoreTransactionPage {
        let items: [(String, String?)] = [
            ("revision", page), ("startDate", start.map { "\($0.milliseconds)" }),
            ("endDate", end.map { "\($0.milliseconds)" }), ("sort", newestFirst ? "DESCENDING" : nil),
        ]
        let query = items.compactMap { name, value in value.map { "\(name)=\(HTTPURL.encoded($0))" } }
        let suffix = query.isEmpty ? "" : "?\(query.joined(separator: "&"))"
        let object = try await self.object(
            Call(kind: .transactionHistory, path: "/inApps/v2/history/\(HTTPURL.encoded(transaction))\(suffix)")
        )
        guard let texts = object.strings("signedTransactions") else { throw ServerAnswer.misshapen(self.host) }
        var transactions: [AppStoreSignedObject] = []
        for text in texts { transactions.append(try await self.verified(text, "signedTransactions")) }
        return AppStoreTransactionPage(
            transactions: transactions,
            nextPage: try self.nextPage(object, "revision", after: page)
        )
    }

    // MARK: Subscriptions

    /// Returns the present state of a customer's subscriptions.
    ///
    /// - Parameter transaction: any transaction identifier of the customer.
    public func subscriptionStatuses(
        _ transaction: String
    ) async throws(AppStoreServerError) -> AppStoreSubscriptionStatuses {
        let object = try await self.object(
            Call(kind: .subscriptionStatuses, path: "/inApps/v1/subscriptions/\(HTTPURL.encoded(transaction))")
        )
        guard let groups = object.objects("data") else { throw ServerAnswer.misshapen(self.host) }
        var subscriptions: [AppStoreSubscriptionStatuses.Subscription] = []
        for group in groups {
            for item in group.objects("lastTransactions") ?? [] {
                guard let status = item.integer("status"), let transaction = item.string("signedTransactionInfo") else {
                    throw ServerAnswer.misshapen(self.host)
                }
                subscriptions.append(
                    AppStoreSubscriptionStatuses.Subscription(
                        group: group.string("subscriptionGroupIdentifier") ?? "",
                        originalTransactionID: item.string("originalTransactionId") ?? "",
                        status: .init(rawValue: status),
                        transaction: try await self.verified(transaction, "signedTransactionInfo"),
                        renewal: try await self.verified(item.string("signedRenewalInfo"))
                    )
                )
            }
        }
        return AppStoreSubscriptionStatuses(subscriptions: subscriptions)
    }

    // MARK: Parts

    /// Returns the token of the next page; nil for the last page. If Apple announces a next page without a new token,
    /// the call fails. With the token of this page again, the reading of pages would never end.
    private func nextPage(
        _ object: JSONObject,
        _ name: String,
        after page: String?
    ) throws(AppStoreServerError) -> String? {
        guard object.bool("hasMore") == true else { return nil }
        guard let next = object.string(name), !next.isEmpty, next != page else {
            throw ServerAnswer.misshapen(self.host)
        }
        return next
    }

    private func verified(_ renewal: String?) async throws(AppStoreServerError) -> AppStoreSignedObject? {
        guard let renewal else { return nil }
        return try await self.verified(renewal, "signedRenewalInfo")
    }

    private func verified(
        _ text: String,
        _ place: String
    ) async throws(AppStoreServerError) -> AppStoreSignedObject {
        do {
            return try await self.verifier.verifyOnline(signedObject: text, place: place, isInvited: true)
        } catch {
            throw self.refused(error)
        }
    }

    private func refused(_ error: AppStoreVerificationError) -> AppStoreServerError {
        AppStoreServerError(
            .notVerified,
            "A signed text in the answer of \(self.host) was refused. \(error.description)",
            status: 200,
            cause: error
        )
    }
}
