/// The number of notifications of one client and topic that may be under way on the connection that all clients share.
///
/// ```
///            +1 for each that APNs took
///   4 ─────────────────────────────────────▶ cap
///   ▲                                         │
///   └── −8 for each refused token, or error ◀─┘
/// ```
///
/// A client that begins with bad tokens has four notifications under way. Their refusals are too few for APNs to close
/// the connection. A client with good tokens may have twice as many under way after each round trip.
struct Credit: Sendable {
    static let floor = 4
    /// The price of a refused token or a server error. A server error has a price, because notifications that are under
    /// way during an outage delay others. If the price were half of the credit, a client with 1 % bad tokens would wait
    /// for seconds.
    static let price = 8
    /// The largest credit. It is far more than a provider takes at a time.
    static let cap = 16_384

    private(set) var limit = Credit.floor
    private(set) var underWay = UnderWay()

    var room: Int { max(min(self.limit - self.underWay.timely, Self.cap - self.underWay.count), 0) }

    mutating func wentOut() { self.underWay.wentOut() }

    /// - Parameter ticks: the number of ticks since the notification was sent.
    mutating func returned(_ verdict: Verdict, after ticks: UInt32 = 0) {
        self.underWay.returned(after: ticks)
        switch verdict {
        case .taken: self.limit = min(self.limit + 1, Self.cap)
        case .countable, .failed: self.limit = max(self.limit - Self.price, Self.floor)
        case .other: break
        }
    }

    mutating func tick() { self.underWay.tick() }
}
