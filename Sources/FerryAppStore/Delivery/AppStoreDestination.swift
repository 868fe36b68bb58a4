/// Where the notifications of an ``AppStoreStore`` go.
public struct AppStoreDestination: Sendable {
    /// The name in the store, under which it knows what was delivered. Keep it, and give no two the same.
    public let name: String
    /// Whether a delivery takes Apple's post as it came.
    let needsPost: Bool
    /// Delivers once; throws if it must be tried again.
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

    /// Code of yours. A delivery counts when it returns, and is tried again when it throws.
    ///
    /// The code gets each notification at least once: after a crash some come again, so
    /// ``AppStoreNotification/uuid`` is the key of what was done. After 60 s its task is cancelled. Sixteen may run at a
    /// time, of one customer's only one.
    public static func handler(
        _ name: String,
        _ handler: @escaping @Sendable (AppStoreDelivery) async throws -> Void
    ) -> AppStoreDestination {
        AppStoreDestination(name: name, deliver: handler)
    }

    /// How many deliveries to one destination are under way at most.
    package static let concurrentDeliveries = DeliveryFlight.limit

    /// The destination as a handler of a receiver without a store.
    package var handler: @Sendable (AppStoreNotification) async throws -> Void {
        { try await self.deliver(.first($0)) }
    }
}
