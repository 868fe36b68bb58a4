/// The deliveries of one destination that are under way, without I/O: so many at a time, and one of each customer.
struct DeliveryFlight {
    /// How many deliveries are under way at most.
    static let limit = 16

    private var numbers: Set<UInt64> = []
    private var customers: Set<String> = []

    var room: Int { Self.limit - self.numbers.count }

    /// Notes that the delivery begins. Returns false if it must wait.
    mutating func begin(_ delivery: AppStoreDelivery) -> Bool {
        guard self.room > 0, !self.numbers.contains(delivery.number) else { return false }
        if let customer = delivery.notification.customer {
            guard self.customers.insert(customer).inserted else { return false }
        }
        self.numbers.insert(delivery.number)
        return true
    }

    mutating func end(_ delivery: AppStoreDelivery) {
        self.numbers.remove(delivery.number)
        if let customer = delivery.notification.customer { self.customers.remove(customer) }
    }
}
