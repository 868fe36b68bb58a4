internal import BasicContainers
internal import FerryCore
internal import NIOCore

/// The open connections of a scope.
struct ScopeConnections: ~Copyable {
    struct Entry: ~Copyable {
        var connection: GatewayConnection
        /// Whether the owner reads from the connection, by the last ``Effect/read(_:_:)``; true before the first one.
        var isReading = true
        /// The earliest timer that is set for the connection.
        var timer = NIODeadline.distantFuture
        /// The episode that the journal has, while the error response of the episode is not written; otherwise nil.
        var journalled: EpisodeID?
        /// Whether the journal has a record of the connection.
        var isJournalled = false
        /// Whether the connection had an input in this turn, so that its timer must be set again at the end.
        var isTouched = false

        init(_ connection: consuming GatewayConnection) { self.connection = connection }
    }

    /// The connections. A removal changes their order.
    var all = UniqueArray<Entry>()
    private var indices: [ConnectionID: Int] = [:]

    /// Returns the place of a connection; nil if the connection is closed. A removal changes the places.
    func index(of id: ConnectionID) -> Int? { self.indices[id] }

    mutating func append(_ connection: consuming GatewayConnection) {
        self.indices[connection.id] = self.all.count
        self.all.append(Entry(connection))
    }

    /// Removes a connection. The last connection moves to its place.
    mutating func remove(at index: Int) {
        let last = self.all.count - 1
        self.indices[self.all[index].connection.id] = nil
        if index < last {
            self.all.swapAt(index, last)
            self.indices[self.all[index].connection.id] = index
        }
        _ = self.all.removeLast()
        // Otherwise the scope of a client that once had many connections would keep their memory.
        if last == 0 { self = ScopeConnections() }
    }
}
