#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A notification in an ``AppStoreStore``.
public struct StoredNotification: Sendable {
    /// How a notification came.
    @nonexhaustive
    public enum Origin: Int, Sendable {
        /// Apple sent it.
        case post
        /// It was fetched from the history.
        case recovery
    }

    /// The state of a delivery to one destination.
    public struct Delivery: Sendable {
        /// How far a delivery is.
        @nonexhaustive
        public enum State: Int, Sendable {
            /// It was not delivered yet.
            case waiting
            /// The destination took it.
            case delivered
            /// It failed for 3 days and was set aside.
            case dead
        }

        /// The name of the destination.
        public let destination: String
        /// How far the delivery is.
        public let state: State
        /// How often it was tried.
        public let attempts: Int
        /// Why the last attempt failed, in words that hold no secret. Nil: none has failed since it was last delivered.
        public let failure: String?
    }

    /// The order of arrival, from 1.
    public let number: UInt64
    /// The notification. Its ``AppStoreNotification/json`` is empty in the result of
    /// ``AppStoreStore/list(limit:before:state:)``.
    public let notification: AppStoreNotification
    /// When the first copy came to the store, by this machine's clock. ``AppStoreStore/retention`` begins here.
    public let received: Date
    /// How the first copy came. Later copies change nothing.
    public let origin: Origin
    /// The deliveries, one for each destination that the store had when the notification came. Destinations that are added
    /// later do not get it.
    public let deliveries: [Delivery]
}

/// A notification on its way to a destination.
public struct AppStoreDelivery: Sendable {
    /// The notification, with its content.
    public let notification: AppStoreNotification
    /// 1 for the first attempt. After a crash, an attempt may have the number of the one before.
    public let attempt: Int
    /// Whether a notification about the same customer that was signed later has been delivered to this destination: then the
    /// notification tells of the past.
    public let isStale: Bool
    /// The body of the post, unchanged. Empty if no destination needed posts when it came.
    package let post: [UInt8]
    let number: UInt64
    /// The time since the first failure; zero before it.
    let failing: Duration

    /// The delivery of a notification that no store keeps.
    static func first(_ notification: AppStoreNotification) -> AppStoreDelivery {
        AppStoreDelivery(notification: notification, attempt: 1, isStale: false, post: [], number: 0, failing: .zero)
    }
}
