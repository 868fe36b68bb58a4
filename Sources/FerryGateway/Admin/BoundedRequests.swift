internal import FerryAdmin
internal import FerryCore

/// The requests of one kind whose work has not ended, including requests whose readers have given up. Any thread may
/// use this object.
///
/// The work of a request whose reader gave up stays in the queue of the store's thread or of the event loop. Without a
/// bound, a monitor that asks each second would leave 3,600 reads while a disk hangs for an hour. When the disk works
/// again, commits would wait for all these reads.
final class BoundedRequests: Sendable {
    /// The largest number of requests whose work has not ended.
    static let limit = 8

    private let underWay = Locked(0)

    /// Returns the answer of `make`; nil if the answer takes longer than `limit`, or at once if too many requests are
    /// under way.
    func answer(within limit: Duration, _ make: @escaping @Sendable () async -> AdminAnswer) async -> AdminAnswer? {
        guard self.begin() else { return nil }
        return await SharedValue<AdminAnswer> {
            let answer = await make()
            self.end()
            return answer
        }
        .value(within: limit)
    }

    private func begin() -> Bool {
        self.underWay.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
    }

    private func end() { self.underWay.withLock { $0 -= 1 } }
}
