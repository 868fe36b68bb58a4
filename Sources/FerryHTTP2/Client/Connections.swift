internal import BasicContainers
internal import FerryCore
internal import NIOCore

/// The connections of a client by identifier, in the order in which they were made. Usually there is one.
///
/// Nothing here chooses the connection of a notification. The driver asks the client to write to one connection after
/// another (`ProviderDriver.write`), and each takes from the common queue as many notifications as it has room for
/// (``HTTP2Client/write(_:into:atMost:now:)``).
struct Connections: ~Copyable {
    private var all = UniqueArray<HTTP2Connection>()

    var count: Int { self.all.count }

    var isEmpty: Bool { self.all.isEmpty }

    /// The identifiers, in the order in which the connections were made.
    var ids: [ConnectionID] { self.all.indices.map { self.all[$0].id } }

    /// The number of requests under way on all of them.
    var underWay: Int { self.all.indices.reduce(0) { $0 + self.all[$1].underWay } }

    /// The number of requests under way on those that take requests.
    var underWayOnTaking: Int {
        self.all.indices.reduce(0) { $0 + (self.all[$1].takesRequests ? self.all[$1].underWay : 0) }
    }

    func contains(_ id: ConnectionID) -> Bool { self.index(of: id) != nil }

    /// The connection with that identifier. It must exist.
    subscript(_ id: ConnectionID) -> HTTP2Connection {
        _read { yield self.all[self.place(of: id)] }
        _modify { yield &self.all[self.place(of: id)] }
    }

    mutating func append(_ connection: consuming HTTP2Connection) { self.all.append(connection) }

    /// Removes and returns the connection with that identifier. It must exist.
    mutating func remove(_ id: ConnectionID) -> HTTP2Connection { self.all.remove(at: self.place(of: id)) }

    mutating func removeAll() { self.all.removeAll() }

    // O(count); usually there is one connection.
    private func index(of id: ConnectionID) -> Int? {
        for index in self.all.indices where self.all[index].id == id { return index }
        return nil
    }

    private func place(of id: ConnectionID) -> Int {
        guard let index = self.index(of: id) else { preconditionFailure("\(id) is gone.") }
        return index
    }

    // MARK: All of them

    /// Whether another connection would help. It would if every connection that takes requests is full, and enough
    /// requests wait to fill another.
    ///
    /// - Parameters:
    ///   - limit: how many connections may take requests.
    ///   - queued: how many requests wait.
    func needMore(limit: Int, queued: Int) -> Bool {
        var window: Int?
        var taking = 0
        for index in self.all.indices where self.all[index].takesRequests {
            guard self.all[index].isSaturated else { return false }
            taking += 1
            if window == nil { window = self.all[index].window.size }
        }
        guard let window else { return true }
        return taking < limit && queued >= window
    }

    /// When a peer that answers PINGs but no requests may get another connection; nil for at once.
    ///
    /// The second one may come at once. Each further one waits three times as long as the one before, so few
    /// descriptors are used. If `first` is 10 s, there are at most four connections while late answers are awaited for
    /// 5 min.
    func lateDeadline(after first: TimeAmount) -> NIODeadline? {
        var late = 0
        var newest = NIODeadline.distantPast
        for index in self.all.indices {
            guard !self.all[index].takesRequests else { return nil }
            guard self.all[index].isLate, self.all[index].underWay > 0 else { continue }
            late += 1
            newest = max(newest, self.all[index].since)
        }
        guard late > 1 else { return nil }
        return newest + (1..<min(late, 16)).reduce(first) { time, _ in time * 3 }
    }

    /// The first connection that takes requests, now or after answers; nil if no connection takes any.
    var taking: ConnectionID? {
        for index in self.all.indices where self.all[index].takesRequests { return self.all[index].id }
        return nil
    }

    /// The only connection, if it takes requests, is full, and has at most `limit` requests under way; otherwise nil.
    func bottleneck(atMost limit: Int) -> ConnectionID? {
        guard self.all.count == 1, !self.all[0].isLeaving, self.all[0].room == 0,
            (1...limit).contains(self.all[0].underWay)
        else { return nil }
        return self.all[0].id
    }

    /// When work is due on any of them.
    ///
    /// - Parameter hasWork: whether requests wait.
    func deadline(hasWork: Bool) -> NIODeadline {
        self.all.indices.reduce(.distantFuture) { min($0, self.all[$1].deadline(hasWork: hasWork)) }
    }

    /// Whether one of them takes requests, now or after an answer.
    var hasUsable: Bool {
        self.all.indices.contains { self.all[$0].takesRequests && self.all[$0].window.settings.dueAt == nil }
    }

    /// The connections about which a tick would decide because of the peer's silence.
    func judged(at now: NIODeadline) -> [ConnectionID] {
        self.all.indices.filter { self.all[$0].judgesSilence(at: now) }.map { self.all[$0].id }
    }

    /// A connection that the newest one replaces: a doubtful one, or the oldest of more than `limit`; otherwise nil.
    func replaced(limit: Int) -> ConnectionID? {
        let taking = self.all.indices.dropLast().filter { !self.all[$0].isLeaving }
        if let index = taking.first(where: { self.all[$0].isDoubtful }) { return self.all[index].id }
        return taking.count >= limit ? taking.first.map { self.all[$0].id } : nil
    }

    /// Returns the counts of PINGs on all of them since the last call.
    mutating func takePings() -> ProviderActivity.Pings {
        var pings = ProviderActivity.Pings()
        for index in self.all.indices { pings.add(self.all[index].takePings()) }
        return pings
    }

    /// Gives each of them what all together have earned.
    mutating func earn(_ earned: EarnedWindow) {
        for index in self.all.indices { self.all[index].earn(earned) }
    }
}
