/// The shares of the clients in the room for notifications without a final answer.
///
/// ```
///   ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▒▒▒▒░░░░░░░░░░░░░░░░░░
///   client 1          2   free for all: as much as client 1 has, so that it gets no more
/// ```
///
/// A client may use as much of the room as is still free. So n greedy clients leave 1/(n + 1) of the room free.
struct Room: Sendable {
    private struct Share {
        var count = 0
        var bytes = 0
    }

    private let limit: Share
    private var all = Share()
    private var shares: [Share]

    init(identities: Int, jobs: Int, bytes: Int) {
        self.limit = Share(count: jobs, bytes: bytes)
        self.shares = Array(repeating: Share(), count: identities)
    }

    /// Adds clients that a reload has brought.
    mutating func grow(identities: Int) {
        while self.shares.count < identities { self.shares.append(Share()) }
    }

    /// The number of notifications of a client without a final answer.
    func count(of identity: Int) -> Int { self.shares[identity].count }

    /// Whether any room is free.
    var isFree: Bool { self.all.count < self.limit.count && self.all.bytes < self.limit.bytes }

    /// Whether another notification may be read from this client.
    func isFree(for identity: Int) -> Bool {
        let share = self.shares[identity]
        return share.count < self.limit.count - self.all.count && share.bytes < self.limit.bytes - self.all.bytes
    }

    mutating func add(_ job: borrowing Job) { self.change(job, by: 1) }

    mutating func remove(_ job: borrowing Job) { self.change(job, by: -1) }

    private mutating func change(_ job: borrowing Job, by sign: Int) {
        let (identity, bytes) = (job.scope.identity, job.bytes.count)
        self.all.count += sign
        self.all.bytes += sign * bytes
        self.shares[identity].count += sign
        self.shares[identity].bytes += sign * bytes
    }
}
