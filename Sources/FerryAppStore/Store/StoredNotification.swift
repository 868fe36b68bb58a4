public import FerryPlatform

/// A notification in an ``AppStoreStore``.
public struct StoredNotification: Sendable {
    /// The source of a notification.
    @nonexhaustive
    public enum Origin: Int, Sendable {
        /// Apple sent the notification.
        case post
        /// The notification was fetched from the history.
        case recovery
    }

    /// The state of a delivery to one destination.
    public struct Delivery: Sendable {
        /// The progress of a delivery.
        @nonexhaustive
        public enum State: Int, Sendable {
            /// The delivery waits for its next attempt, or an attempt runs.
            case waiting
            /// The destination accepted the notification.
            case delivered
            /// The delivery failed for 3 days and at least 24 attempts, and was set aside.
            case dead
        }

        /// The name of the destination.
        public let destination: String
        /// The progress of the delivery.
        public let state: State
        /// The number of attempts that have ended, including failed and cancelled attempts. An attempt that a crash
        /// interrupts does not count. ``AppStoreStore/redeliver(uuid:)`` sets the number to 0.
        public let attempts: Int
        /// The reason of the last failed attempt, without secrets; nil if no attempt failed since the last successful
        /// delivery.
        public let failure: String?
    }

    /// The number of the notification in the order of arrival, from 1.
    public let number: UInt64
    /// The notification. Its ``AppStoreNotification/json`` is empty in the result of
    /// ``AppStoreStore/list(limit:before:state:)``.
    public let notification: AppStoreNotification
    /// The arrival of the first copy, by this machine's clock. ``AppStoreStore/retention`` begins here.
    public let received: Date
    /// The source of the first copy. Later copies do not change it.
    public let origin: Origin
    /// The deliveries: one for each destination that the store had when the notification came. A destination that is
    /// added later gets the notification only through ``AppStoreStore/deliverUnsent()``.
    public let deliveries: [Delivery]
}

/// A notification on its way to a destination.
public struct AppStoreDelivery: Sendable {
    /// The notification, with its content.
    public let notification: AppStoreNotification
    /// The number of the attempt, from 1. After a crash, the next attempt may have the same number again.
    public let attempt: Int
    /// Whether a newer notification about the same customer was delivered to this destination before. Then this
    /// notification describes an older state. Newer means signed later.
    public let isStale: Bool
    /// The body of the post, in version 2 with `signedPayload` alone. It is empty without a store, or if no
    /// destination of the store needed posts when the notification came.
    package let post: [UInt8]
    let number: UInt64
    /// The time since the first attempt ended without success; zero if no attempt has ended.
    let failing: Duration

    /// Makes the delivery of a notification that no store keeps.
    static func first(_ notification: AppStoreNotification) -> AppStoreDelivery {
        AppStoreDelivery(notification: notification, attempt: 1, isStale: false, post: [], number: 0, failing: .zero)
    }
}
