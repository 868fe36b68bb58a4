/// The deliveries of one destination that are under way, without I/O: so many at a time, and one of each customer.
struct DeliveryFlight {
    /// How many deliveries are under way at most.
    static let limit = 16

    private var numbers: Set<UInt64> = []
    private var customers: Set<String> = []
    /// Those that ended since the store was last looked at. What the look returns may be older than their ends.
    private var ended: Set<UInt64> = []

    var room: Int { Self.limit - self.numbers.count }

    /// The store is looked at for deliveries that are due. Those of an earlier look may not begin any more.
    mutating func look() { self.ended = [] }

    /// Notes that the delivery begins. Returns false if it must wait.
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
