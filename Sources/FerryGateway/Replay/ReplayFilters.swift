package import NIOCore

/// The replay filters of all scopes, within the bounds that they share.
package struct ReplayFilters: Sendable {
    private var filters: [ReplayScope: ReplayFilter] = [:]
    /// The entries of each identity.
    private var identities: [Int: Int] = [:]
    /// The entries of all filters.
    package private(set) var entryCount = 0
    /// The open connections of each scope.
    private var connections: [ReplayScope: Int] = [:]
    /// The scopes without a connection, with a number that grows: the lowest was left first.
    private var idle: [ReplayScope: UInt64] = [:]
    private var idleCount: UInt64 = 0
    private let limit: Int
    private let identityLimit: Int
    private let scopeLimit: Int

    package init(
        limit: Int = GatewayBounds.entries,
        identityLimit: Int = GatewayBounds.entriesPerIdentity,
        scopeLimit: Int = GatewayBounds.scopes
    ) {
        self.limit = limit
        self.identityLimit = identityLimit
        self.scopeLimit = scopeLimit
    }

    /// The number of filters.
    package var count: Int { self.filters.count }

    /// Calls `body` with the filter of a scope, and then ends episodes until the bounds hold.
    ///
    /// - Parameter new: the filter of a scope that has no filter so far.
    package mutating func with<Result>(
        _ scope: ReplayScope,
        new: @autoclosure () -> ReplayFilter = ReplayFilter(),
        now: NIODeadline,
        _ body: (inout ReplayFilter) -> Result
    ) -> Result {
        if self.filters[scope] == nil, self.connections[scope] == nil {
            self.idleCount += 1
            self.idle[scope] = self.idleCount
        }
        let result = self.counted(scope) { body(&$0[scope, default: new()]) }
        while self.identities[scope.identity, default: 0] > self.identityLimit,
            self.evictOldest(of: scope.identity)
        {}
        while self.entryCount > self.limit, self.evictOldest(of: nil) {}
        return result
    }

    // MARK: Scopes

    /// Notes a connection of a scope.
    package mutating func opened(_ scope: ReplayScope) {
        self.connections[scope, default: 0] += 1
        self.idle[scope] = nil
    }

    /// Notes the end of a connection. Beyond the bound, returns the scopes that were forgotten: those without a connection
    /// and without an episode, the oldest first. If their clients come back, they are unknown.
    package mutating func closed(_ scope: ReplayScope) -> [ReplayScope] {
        let count = self.connections[scope, default: 1] - 1
        guard count == 0 else {
            self.connections[scope] = count
            return []
        }
        self.connections[scope] = nil
        self.idleCount += 1
        self.idle[scope] = self.idleCount
        return self.idle.count > self.scopeLimit ? self.forgetIdle() : []
    }

    /// Forgets a quarter of the bound, so that the search is rare.
    private mutating func forgetIdle() -> [ReplayScope] {
        let idle = self.idle.sorted { $0.value < $1.value }.map(\.key)
        let old = idle.filter { self.filters[$0].map { $0.entryCount == 0 && $0.oldestEpisode == nil } ?? true }
        let forgotten = Array(old.prefix(max(self.scopeLimit / 4, 1)))
        for scope in forgotten {
            self.filters[scope] = nil
            self.idle[scope] = nil
        }
        return forgotten
    }

    private mutating func counted<Result>(
        _ scope: ReplayScope,
        _ body: (inout [ReplayScope: ReplayFilter]) -> Result
    ) -> Result {
        let before = self.filters[scope]?.entryCount ?? 0
        let result = body(&self.filters)
        let growth = (self.filters[scope]?.entryCount ?? 0) - before
        guard growth != 0 else { return result }
        self.entryCount += growth
        let count = self.identities[scope.identity, default: 0] + growth
        self.identities[scope.identity] = count == 0 ? nil : count
        return result
    }

    /// Ends the oldest episode; returns false if there is no episode.
    ///
    /// - Parameter identity: nil: any.
    private mutating func evictOldest(of identity: Int?) -> Bool {
        var oldest: (scope: ReplayScope, openedAt: NIODeadline)?
        for (scope, filter) in self.filters where identity == nil || scope.identity == identity {
            guard let openedAt = filter.oldestEpisode else { continue }
            if let found = oldest, found.openedAt <= openedAt { continue }
            oldest = (scope, openedAt)
        }
        guard let scope = oldest?.scope else { return false }
        self.counted(scope) { $0[scope]?.evictEpisode() }
        return true
    }
}
