/// The present state of a customer's subscriptions.
///
/// Source: "Get All Subscription Statuses" (App Store Server API, Apple).
public struct AppStoreSubscriptionStatuses: Sendable {
    /// The state of one subscription, in Apple's numbers. An unknown state is kept as it is.
    public struct Status: RawRepresentable, Hashable, Sendable {
        /// Apple's number, from 1 to 5 so far.
        public let rawValue: Int64

        /// Makes a state from any number.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// The subscription is active.
        public static let active = Status(rawValue: 1)
        /// The subscription has ended.
        public static let expired = Status(rawValue: 2)
        /// The payment failed, and Apple tries again.
        public static let billingRetry = Status(rawValue: 3)
        /// The payment failed, and Apple tries again. The customer keeps the service in the meantime.
        public static let gracePeriod = Status(rawValue: 4)
        /// Apple took the subscription back, for example with a refund.
        public static let revoked = Status(rawValue: 5)
    }

    /// One subscription with its latest transaction: an element of `lastTransactions`.
    public struct Subscription: Sendable {
        /// The group of the product (`subscriptionGroupIdentifier`); empty if Apple's answer has none.
        public let group: String
        /// The identifier of the first transaction, which all renewals share (`originalTransactionId`). It is empty if
        /// Apple's answer has none.
        public let originalTransactionID: String
        /// The state at the time of the call.
        public let status: Status
        /// The latest transaction, verified (`signedTransactionInfo`).
        public let transaction: AppStoreSignedObject
        /// The verified terms of the next renewal (`signedRenewalInfo`); nil if Apple's answer has none.
        public let renewal: AppStoreSignedObject?
    }

    /// The subscriptions of all groups, in Apple's order.
    public let subscriptions: [Subscription]
}

/// A page of a customer's transactions: at most 20.
///
/// Source: "Get Transaction History" (App Store Server API, Apple).
public struct AppStoreTransactionPage: Sendable {
    /// The verified transactions, in the order that the call requested. If a transaction is refused, the whole call
    /// fails with ``AppStoreServerError/Code/notVerified``.
    public let transactions: [AppStoreSignedObject]
    /// The token of the next page (`revision`); nil for the last page.
    public let nextPage: String?
}
