internal import DequeModule
internal import FerryCore

/// The notifications of one client that wait to go out. The client's connections take turns.
///
/// ```
///   connection 3  ▓▓▓▓▓▓▓▓▓▓
///   connection 8  ▓▓           ──▶
/// ```
///
/// The notifications of one connection keep their order.
struct ConnectionTurns: Sendable {
    /// The largest number of notifications in one turn.
    static let length = 32

    private var connections: [ConnectionID: Deque<JobID>] = [:]
    /// The connections that have notifications, the next one first.
    private var order: Deque<ConnectionID> = []

    var isEmpty: Bool { self.order.isEmpty }

    mutating func append(_ job: JobID, on connection: ConnectionID) {
        if self.connections[connection, default: []].isEmpty { self.order.append(connection) }
        self.connections[connection, default: []].append(job)
    }

    /// Removes the notifications of the next turn, at most `limit`, and passes them to `body` in order.
    mutating func takeTurn(atMost limit: Int, _ body: (JobID) -> Void) {
        guard let connection = self.order.popFirst() else { return }
        guard var jobs = self.connections.removeValue(forKey: connection) else {
            return assertionFailure("a connection in the order has notifications")
        }
        let count = min(Self.length, limit, jobs.count)
        for job in jobs.prefix(count) { body(job) }
        jobs.removeFirst(count)
        guard !jobs.isEmpty else { return }
        self.connections[connection] = jobs
        self.order.append(connection)
    }

    /// Removes and returns all notifications. The notifications of one connection keep their order.
    mutating func takeAll() -> [JobID] {
        defer { self = ConnectionTurns() }
        return self.order.flatMap { self.connections[$0] ?? [] }
    }
}
