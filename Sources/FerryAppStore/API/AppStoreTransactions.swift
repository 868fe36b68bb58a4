/// The present state of a customer's subscriptions.
///
/// Source: "Get All Subscription Statuses" (App Store Server API, Apple).
public struct AppStoreSubscriptionStatuses: Sendable {
    /// The state of one subscription, in Apple's numbers. An unknown one is kept as it is.
    public struct Status: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int64

        public init(rawValue: Int64) { self.rawValue = rawValue }

        public static let active = Status(rawValue: 1)
        public static let expired = Status(rawValue: 2)
        public static let billingRetry = Status(rawValue: 3)
        public static let gracePeriod = Status(rawValue: 4)
        public static let revoked = Status(rawValue: 5)
    }

    public struct Subscription: Sendable {
        /// The group that the product belongs to (`subscriptionGroupIdentifier`).
        public let group: String
        public let originalTransactionID: String
        public let status: Status
        public let transaction: AppStoreSignedObject
        public let renewal: AppStoreSignedObject?
    }

    public let subscriptions: [Subscription]
}

/// A page of a customer's transactions: at most 20.
///
/// Source: "Get Transaction History" (App Store Server API, Apple).
public struct AppStoreTransactionPage: Sendable {
    public let transactions: [AppStoreSignedObject]
    /// The token of the next page (`revision`); nil: this is the last.
    public let nextPage: String?
}
