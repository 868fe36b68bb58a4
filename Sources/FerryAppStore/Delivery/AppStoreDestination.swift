/// A destination of the notifications in an ``AppStoreStore``.
public struct AppStoreDestination: Sendable {
    /// The name under which the store notes deliveries. Never change it, and give each destination a different name.
    public let name: String
    /// Whether a delivery needs ``AppStoreDelivery/post``, Apple's signed post.
    let needsPost: Bool
    /// Makes one attempt to deliver a notification. If the attempt throws, the delivery must be tried again.
    let deliver: @Sendable (AppStoreDelivery) async throws -> Void

    init(
        name: String,
        needsPost: Bool = false,
        deliver: @escaping @Sendable (AppStoreDelivery) async throws -> Void
    ) {
        self.name = name
        self.needsPost = needsPost
        self.deliver = deliver
    }

    /// Makes a destination from your own code. A delivery counts when the code returns. If the code throws, the
    /// delivery is tried again, and is set aside after 3 days and at least 24 attempts.
    ///
    /// The code gets each notification at least once. After a crash, the code gets some notifications again. So use
    /// ``AppStoreNotification/uuid`` as the key of the finished work. After 60 s the task of the code is cancelled.
    /// Up to sixteen calls run at the same time, but only one for each customer.
    public static func handler(
        _ name: String,
        _ handler: @escaping @Sendable (AppStoreDelivery) async throws -> Void
    ) -> AppStoreDestination {
        AppStoreDestination(name: name, deliver: handler)
    }

    /// The largest number of deliveries to one destination that run at the same time.
    package static let concurrentDeliveries = DeliveryFlight.limit

    /// The destination as a handler for a receiver without a store.
    package var handler: @Sendable (AppStoreNotification) async throws -> Void {
        { try await self.deliver(.first($0)) }
    }
}
