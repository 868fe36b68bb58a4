internal import BasicContainers
internal import FerryCore
internal import HeapModule
internal import NIOCore

/// All scopes, within the bounds that they share, and the next of their deadlines.
struct Scopes: ~Copyable {
    /// The place of a scope. When a scope is forgotten, the generation grows. So a late answer never meets another
    /// scope at the same place.
    struct Place: Hashable, Sendable {
        fileprivate var index: Int
        fileprivate var generation: UInt32
    }

    /// A place with its scope. A forgotten scope leaves its place free until another scope uses it.
    struct Cell: ~Copyable {
        var generation: UInt32
        var scope: GatewayScope
        /// Whether the client has connected to this process.
        var wasOpened = false
        /// The number of the filter's entries that the sums include.
        var entryCount = 0
        /// The deadlines of the scope that are in the heap, each earlier than the deadline before it.
        var deadlines: [NIODeadline] = []

        init(generation: UInt32, _ scope: consuming GatewayScope) {
            self.generation = generation
            self.scope = scope
        }
    }

    struct Deadline: Comparable {
        var at: NIODeadline
        var place: Place

        static func < (left: Deadline, right: Deadline) -> Bool { left.at < right.at }
        static func == (left: Deadline, right: Deadline) -> Bool { left.at == right.at }
    }

    private var cells = UniqueArray<Cell>()
    private var free: [Int] = []
    private var places: [ReplayScope: Place] = [:]
    private var deadlines = Heap<Deadline>()
    /// The number of entries in the filters of each identity, by the number of the identity.
    private var identities: [Int: Int] = [:]
    /// The number of entries of all filters.
    private(set) var entryCount = 0
    /// The scopes without a connection, with ascending numbers. The scope that was left first has the lowest number.
    private var idle: [ReplayScope: UInt64] = [:]
    private var idleCount: UInt64 = 0
    private let isStored: Bool
    private let limit: Int
    private let identityLimit: Int
    private let scopeLimit: Int

    /// - Parameter isStored: whether a journal notes the beginnings of episodes.
    init(
        isStored: Bool,
        limit: Int = GatewayBounds.entries,
        identityLimit: Int = GatewayBounds.entriesPerIdentity,
        scopeLimit: Int = GatewayBounds.scopes
    ) {
        self.isStored = isStored
        self.limit = limit
        self.identityLimit = identityLimit
        self.scopeLimit = scopeLimit
    }

    var count: Int { self.places.count }

    /// The earliest deadline of a scope; nil if only an input can change the state.
    var nextDeadline: NIODeadline? { self.deadlines.min?.at }

    /// Returns the place of a scope, and makes the scope if it is unknown.
    ///
    /// - Parameter filter: the filter of a new scope.
    mutating func place(of key: ReplayScope, new filter: @autoclosure () -> ReplayFilter) -> Place {
        if let place = self.places[key] { return place }
        let scope = GatewayScope(key, filter(), isStored: self.isStored)
        let place: Place
        if let index = self.free.popLast() {
            place = Place(index: index, generation: self.cells[index].generation)
            self.cells[index] = Cell(generation: place.generation, scope)
        } else {
            place = Place(index: self.cells.count, generation: 0)
            self.cells.append(Cell(generation: 0, scope))
        }
        self.places[key] = place
        self.becomeIdle(key)
        return place
    }

    /// Calls `body` with a scope as one turn. Then ends episodes until the bounds hold, or no episode is left. Does
    /// nothing for a forgotten scope.
    mutating func with(
        _ place: Place,
        _ around: GatewayScope.Surroundings,
        _ effects: inout [Effect],
        _ body: (inout GatewayScope, inout [Effect]) -> Void
    ) {
        let index = place.index
        guard self.cells[index].generation == place.generation else { return }
        self.cells[index].scope.begin(now: around.now)
        body(&self.cells[index].scope, &effects)
        self.cells[index].scope.end(around, &effects)
        self.count(index)
        self.schedule(place)
        let identity = self.cells[index].scope.key.identity
        while self.identities[identity, default: 0] > self.identityLimit, self.evictOldest(of: identity, &effects) {}
        while self.entryCount > self.limit, self.evictOldest(of: nil, &effects) {}
    }

    func key(of place: Place) -> ReplayScope { self.cells[place.index].scope.key }

    func replayClass(of place: Place) -> ReplayClass { self.cells[place.index].scope.filter.replayClass }

    /// The class and the habits of the client, for the store.
    func habit(of place: Place) -> ClientHabit {
        ClientHabit(self.key(of: place), self.cells[place.index].scope.filter)
    }

    /// Sets whether the client repeats followers after an error response, as a reload configures it; nil if the gateway
    /// must find out.
    mutating func configure(_ identity: Int, resends: Bool?) {
        for (key, place) in self.places where key.identity == identity {
            self.cells[place.index].scope.configure(resends: resends)
        }
    }

    mutating func sampled(_ id: ConnectionID, at place: Place, roundTrip: TimeAmount) {
        assert(self.cells[place.index].generation == place.generation, "an open scope is not forgotten")
        self.cells[place.index].scope.sampled(id, roundTrip: roundTrip)
    }

    // MARK: Time

    /// Removes the earliest deadline that has passed, and returns the place of its scope; nil if none has passed. The
    /// scope itself stays. The deadline may be too early, and the scope then has no work yet.
    mutating func popDue(now: NIODeadline) -> Place? {
        while let first = self.deadlines.min, first.at <= now {
            self.deadlines.removeMin()
            let index = first.place.index
            guard self.cells[index].generation == first.place.generation else { continue }
            _ = self.cells[index].deadlines.popLast()
            return first.place
        }
        return nil
    }

    /// Sets the deadline of a scope. A deadline that is too early does no harm, so most inputs set no new deadline.
    private mutating func schedule(_ place: Place) {
        guard let at = self.cells[place.index].scope.nextDeadline else { return }
        if let earliest = self.cells[place.index].deadlines.last, earliest <= at { return }
        self.cells[place.index].deadlines.append(at)
        self.deadlines.insert(Deadline(at: at, place: place))
    }

    // MARK: Bounds

    private mutating func count(_ index: Int) {
        let growth = self.cells[index].scope.filter.entryCount - self.cells[index].entryCount
        guard growth != 0 else { return }
        self.cells[index].entryCount += growth
        self.entryCount += growth
        let identity = self.cells[index].scope.key.identity
        let count = self.identities[identity, default: 0] + growth
        self.identities[identity] = count == 0 ? nil : count
    }

    /// Ends an episode of the scope that has the oldest episode. Returns false if there is no episode.
    ///
    /// - Parameter identity: the identity whose episode ends; nil for the oldest episode of all identities.
    private mutating func evictOldest(of identity: Int?, _ effects: inout [Effect]) -> Bool {
        var oldest: (index: Int, openedAt: NIODeadline)?
        for (key, place) in self.places where identity == nil || key.identity == identity {
            guard let openedAt = self.cells[place.index].scope.filter.oldestEpisode else { continue }
            if let found = oldest, found.openedAt <= openedAt { continue }
            oldest = (place.index, openedAt)
        }
        guard let index = oldest?.index else { return false }
        self.cells[index].scope.evictEpisode(&effects)
        self.count(index)
        return true
    }

    // MARK: Clients that are gone

    /// Adds a connection to a scope.
    mutating func opened(_ connection: consuming GatewayConnection, at place: Place) {
        assert(self.cells[place.index].generation == place.generation, "a scope is opened at its present place")
        self.cells[place.index].scope.opened(connection)
        self.cells[place.index].wasOpened = true
        self.idle[self.cells[place.index].scope.key] = nil
    }

    /// Notes that a connection of the scope has closed. If it was the last connection, the scope becomes idle.
    ///
    /// If more scopes are idle than the bound allows, forgets the scopes that have been idle longest. A scope with
    /// entries or an episode is not forgotten.
    ///
    /// - Returns: the forgotten scopes whose rows must be removed from the store. If a client never connected to this
    ///   process, its row stays, because the client may belong to another shard.
    mutating func closed(_ place: Place) -> [ReplayScope] {
        guard !self.cells[place.index].scope.isOpen else { return [] }
        self.becomeIdle(self.cells[place.index].scope.key)
        return self.idle.count > self.scopeLimit ? self.forgetIdle() : []
    }

    private mutating func becomeIdle(_ key: ReplayScope) {
        self.idleCount += 1
        self.idle[key] = self.idleCount
    }

    /// Forgets at most a quarter of the bound at a time, and not only the surplus, so that the search is rare.
    private mutating func forgetIdle() -> [ReplayScope] {
        var forgotten: [ReplayScope] = []
        var count = 0
        for (key, _) in self.idle.sorted(by: { $0.value < $1.value }) {
            guard count < max(self.scopeLimit / 4, 1) else { break }
            guard let index = self.places[key]?.index else {
                assertionFailure("an idle scope has a place")
                continue
            }
            guard self.cells[index].entryCount == 0, self.cells[index].scope.filter.oldestEpisode == nil else {
                continue
            }
            self.cells[index].generation &+= 1
            self.free.append(index)
            self.places[key] = nil
            self.idle[key] = nil
            count += 1
            if self.cells[index].wasOpened { forgotten.append(key) }
        }
        return forgotten
    }
}
