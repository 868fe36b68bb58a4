/// The running deliveries of one destination, without I/O. Their number is limited, and a customer has at most one.
struct DeliveryFlight {
    /// The largest number of running deliveries.
    static let limit = 16

    private var numbers: Set<UInt64> = []
    private var customers: Set<String> = []
    /// The deliveries that ended since the store was last asked for due deliveries. The store's answer may still
    /// contain them.
    private var ended: Set<UInt64> = []

    var room: Int { Self.limit - self.numbers.count }

    /// Forgets the ended deliveries. Call this before you ask the store for due deliveries. Then call ``begin(_:)``
    /// only with deliveries of that answer.
    mutating func look() { self.ended = [] }

    /// Notes that a delivery begins. Returns false if the delivery must wait, is running or has ended.
    mutating func begin(_ delivery: AppStoreDelivery) -> Bool {
        guard self.room > 0, !self.numbers.contains(delivery.number), !self.ended.contains(delivery.number)
        else { return false }
        if let customer = delivery.notification.customer {
            guard self.customers.insert(customer).inserted else { return false }
        }
        self.numbers.insert(delivery.number)
        return true
    }

    mutating func end(_ delivery: AppStoreDelivery) {
        self.numbers.remove(delivery.number)
        self.ended.insert(delivery.number)
        if let customer = delivery.notification.customer { self.customers.remove(customer) }
    }
}
