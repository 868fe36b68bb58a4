/// A page of the answer to `GET /waiting`.
package struct WaitingPage: Hashable, Codable, Sendable {
    package var notifications: [WaitingRow]
    /// The value of `after` for the next page; nil on the last page.
    package var next: String?
}

/// A notification without a final answer, for operators. The payload is left out.
package struct WaitingRow: Hashable, Codable, Sendable {
    package var apnsID: String
    package var client: String
    /// The name of the upstream, if a listener names it; nil for the client's own upstream.
    package var upstream: String?
    package var topic: String
    package var reason: WaitingReason
    /// The reason of the last refusal since the start of this process; nil before the first refusal.
    package var lastReason: String?
    /// When the notification was read, or last sent again by an operator, in UNIX seconds.
    package var readAt: UInt32
    /// The seconds since ``readAt``, by the monotonic clock.
    package var age: Double
    /// The expiration in UNIX seconds; 0 for one attempt at delivery.
    package var expiration: UInt32
    /// Whether the notification may already have arrived. True for each notification of an earlier process.
    package var mayHaveArrived: Bool
    package var attempts: Int
    package var token: String

    /// The keys, with `apnsId` as in all other JSON of Ferry.
    private enum CodingKeys: String, CodingKey {
        case apnsID = "apnsId"
        case client, upstream, topic, reason, lastReason, readAt, age, expiration, mayHaveArrived, attempts, token
    }
}

/// A page of the answer to `GET /waiting/sums`. A reader adds the sums of all pages.
package struct WaitingSums: Hashable, Codable, Sendable {
    package var sums: [WaitingSum]
    /// The value of `after` for the next page; nil on the last page.
    package var next: String?

    package init(sums: [WaitingSum] = [], next: String? = nil) {
        self.sums = sums
        self.next = next
    }
}

/// The notifications of a client that wait for one reason.
package struct WaitingSum: Hashable, Codable, Sendable {
    package var client: String
    /// The name of the upstream, if a listener names it; nil for the client's own upstream.
    package var upstream: String?
    package var reason: WaitingReason
    package var count: Int
    /// The age of the oldest notification, in seconds.
    package var oldestAge: Double

    fileprivate struct Key: Hashable {
        var client: String
        var upstream: String?
        var reason: WaitingReason
    }

    fileprivate var key: Key { Key(client: self.client, upstream: self.upstream, reason: self.reason) }

    package init(client: String, upstream: String? = nil, reason: WaitingReason, count: Int, oldestAge: Double) {
        self.client = client
        self.upstream = upstream
        self.reason = reason
        self.count = count
        self.oldestAge = oldestAge
    }
}

extension [WaitingSum] {
    /// Adds the sums of another page, or of another turn of the event loop. The largest sums come first.
    package mutating func add(_ others: [WaitingSum]) {
        var sums: [WaitingSum.Key: WaitingSum] = [:]
        for sum in self + others {
            guard var known = sums[sum.key] else {
                sums[sum.key] = sum
                continue
            }
            known.count += sum.count
            known.oldestAge = Swift.max(known.oldestAge, sum.oldestAge)
            sums[sum.key] = known
        }
        self = sums.values.sorted { one, other in
            guard one.count == other.count else { return one.count > other.count }
            return (one.client, one.upstream ?? "", one.reason.rawValue)
                < (other.client, other.upstream ?? "", other.reason.rawValue)
        }
    }
}

/// The notifications that an operator asks for.
package struct WaitingFilter: Hashable, Sendable {
    package var client: String?
    package var reason: WaitingReason?
    /// The latest time at which the notifications were read, in UNIX seconds.
    package var readBy: UInt32?

    package init(client: String? = nil, reason: WaitingReason? = nil, readBy: UInt32? = nil) {
        self.client = client
        self.reason = reason
        self.readBy = readBy
    }
}
