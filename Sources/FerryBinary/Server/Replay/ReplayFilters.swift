package import NIOCore

/// The replay filters of all scopes, within the bounds that they share.
package struct ReplayFilters: Sendable {
    private var filters: [ReplayScope: ReplayFilter] = [:]
    /// The entries of each identity.
    private var identities: [Int: Int] = [:]
    /// The entries of all filters.
    package private(set) var entryCount = 0
    private let limit: Int
    private let identityLimit: Int

    package init(limit: Int = GatewayBounds.entries, identityLimit: Int = GatewayBounds.entriesPerIdentity) {
        self.limit = limit
        self.identityLimit = identityLimit
    }

    /// Calls `body` with the filter of a scope, and then ends the oldest episodes until the bounds hold.
    ///
    /// - Parameter new: the filter of a scope that has no filter so far.
    package mutating func with<Result>(
        _ scope: ReplayScope,
        new: @autoclosure () -> ReplayFilter = ReplayFilter(),
        now: NIODeadline,
        _ body: (inout ReplayFilter) -> Result
    ) -> Result {
        let result = self.counted(scope) { body(&$0[scope, default: new()]) }
        while self.identities[scope.identity, default: 0] > self.identityLimit,
            self.evictOldest(of: scope.identity, now: now)
        {}
        while self.entryCount > self.limit, self.evictOldest(of: nil, now: now) {}
        return result
    }

    /// Forgets a scope whose client is gone and whose class is stored.
    package mutating func remove(_ scope: ReplayScope) {
        self.counted(scope) { $0[scope] = nil }
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
    private mutating func evictOldest(of identity: Int?, now: NIODeadline) -> Bool {
        var oldest: (scope: ReplayScope, openedAt: NIODeadline)?
        for (scope, filter) in self.filters where identity == nil || scope.identity == identity {
            guard let openedAt = filter.oldestEpisode else { continue }
            if let found = oldest, found.openedAt <= openedAt { continue }
            oldest = (scope, openedAt)
        }
        guard let scope = oldest?.scope else { return false }
        self.counted(scope) { $0[scope]?.evictOldestEpisode(now: now) }
        return true
    }
}
