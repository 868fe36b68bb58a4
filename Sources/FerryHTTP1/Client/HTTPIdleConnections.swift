/// The connections that wait for their next request, by origin, without I/O. The newest connection is used first.
struct HTTPIdleConnections<Connection> {
    private struct Entry {
        var id: UInt64
        var connection: Connection
    }

    /// The largest number of origins with idle connections. A client speaks to a few origins.
    private static var originLimit: Int { 64 }

    private let limit: Int
    private var entries: [HTTPURL.Origin: [Entry]] = [:]
    private var nextID: UInt64 = 0
    private var isClosed = false

    /// - Parameter limit: the largest number of connections to one origin.
    init(limit: Int) { self.limit = limit }

    /// Keeps a connection, and returns its identifier; nil if there is no room, or after ``close()``. If the result is
    /// nil, the caller must close the connection.
    mutating func put(_ connection: Connection, for origin: HTTPURL.Origin) -> UInt64? {
        let own = self.entries[origin]
        guard !self.isClosed, own?.count ?? 0 < self.limit, own != nil || self.entries.count < Self.originLimit else {
            return nil
        }
        self.nextID += 1
        self.entries[origin, default: []].append(Entry(id: self.nextID, connection: connection))
        return self.nextID
    }

    mutating func take(_ origin: HTTPURL.Origin) -> Connection? {
        guard let entry = self.entries[origin]?.popLast() else { return nil }
        if self.entries[origin]?.isEmpty == true { self.entries[origin] = nil }
        return entry.connection
    }

    /// Forgets a connection. Returns false if the connection was taken or removed before.
    mutating func remove(_ id: UInt64, of origin: HTTPURL.Origin) -> Bool {
        guard let place = self.entries[origin]?.firstIndex(where: { $0.id == id }) else { return false }
        self.entries[origin]?.remove(at: place)
        if self.entries[origin]?.isEmpty == true { self.entries[origin] = nil }
        return true
    }

    /// Makes each later call of ``put(_:for:)`` return nil.
    mutating func close() { self.isClosed = true }

    /// Removes and returns all connections.
    mutating func removeAll() -> [Connection] {
        defer { self.entries = [:] }
        return self.entries.values.flatMap { $0.map(\.connection) }
    }
}
