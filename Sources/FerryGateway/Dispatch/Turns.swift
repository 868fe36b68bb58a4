internal import DequeModule
internal import FerryBinary
internal import FerryCore

/// The notifications that may go to an upstream, in the order in which they go: the clients take turns, and so do the
/// connections of each client.
///
/// ```
///   client 1 ─┬─ connection 3  ▓▓▓▓▓▓▓▓▓▓
///             └─ connection 8  ▓▓           ──▶ upstream
///   client 2 ─── connection 5  ▓
/// ```
///
/// Without turns, a client that sends a million notifications at once would delay all others until they are gone. The order
/// on a connection stays.
struct Turns {
    /// The notifications that go in one turn.
    static let length = 32

    /// One client.
    private struct Client {
        var connections: [ConnectionID: Deque<JobID>] = [:]
        /// The connections that have something, the next one first.
        var order: Deque<ConnectionID> = []

        mutating func append(_ job: JobID, on connection: ConnectionID) {
            if self.connections[connection, default: []].isEmpty { self.order.append(connection) }
            self.connections[connection, default: []].append(job)
        }

        mutating func takeTurn(_ body: (JobID) -> Void) {
            guard let connection = self.order.popFirst(), var jobs = self.connections.removeValue(forKey: connection)
            else { return }
            for job in jobs.prefix(Turns.length) { body(job) }
            jobs.removeFirst(min(Turns.length, jobs.count))
            guard !jobs.isEmpty else { return }
            self.connections[connection] = jobs
            self.order.append(connection)
        }
    }

    private var clients: [Client]
    /// The clients that have something, the next one first.
    private var order: Deque<Int> = []

    /// - Parameter identities: the number of clients.
    init(identities: Int) { self.clients = (0..<identities).map { _ in Client() } }

    var isEmpty: Bool { self.order.isEmpty }

    /// Appends a notification of a connection of a client.
    mutating func append(_ job: JobID, of identity: Int, on connection: ConnectionID) {
        if self.clients[identity].order.isEmpty { self.order.append(identity) }
        self.clients[identity].append(job, on: connection)
    }

    /// Removes the notifications of the next turn, and passes them on in order.
    mutating func takeTurn(_ body: (JobID) -> Void) {
        guard let identity = self.order.popFirst() else { return }
        self.clients[identity].takeTurn(body)
        if !self.clients[identity].order.isEmpty { self.order.append(identity) }
    }
}
