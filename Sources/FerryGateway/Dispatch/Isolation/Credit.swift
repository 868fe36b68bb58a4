/// The number of notifications of one client and topic that may be under way on the connection that all clients share.
///
/// ```
///            +1 for each that APNs took
///   4 ─────────────────────────────────────▶ cap
///   ▲                                         │
///   └── −8 for each refused token, or error ◀─┘
/// ```
///
/// A client that begins with bad tokens has four under way: APNs does not close the connection for them. A client with
/// good tokens has twice as many after each round trip.
struct Credit: Sendable {
    static let floor = 4
    /// The price of a refused token, and of a server error: what waits for the end of an outage delays others. If it
    /// were half of the credit, a client with 1 % bad tokens would wait for seconds.
    static let price = 8
    /// Far more than a provider takes at a time.
    static let cap = 16_384

    private(set) var limit = Credit.floor
    private(set) var underWay = UnderWay()

    var room: Int { max(min(self.limit - self.underWay.timely, Self.cap - self.underWay.count), 0) }

    mutating func wentOut() { self.underWay.wentOut() }

    /// - Parameter ticks: how many ticks ago it went out.
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
