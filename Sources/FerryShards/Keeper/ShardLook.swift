package import NIOCore

/// A row of a look: a shard whose lock no session has.
package struct FreeShard: Hashable, Sendable {
    package var shard: Int
    package var term: ShardTerm
    /// Whether its last owner gave it up. Then no process forwards its notifications.
    package var isFreed: Bool
    /// The node that shall have the shard next; nil if no node was named.
    package var wanted: String?

    package init(shard: Int, term: ShardTerm, isFreed: Bool, wanted: String? = nil) {
        self.shard = shard
        self.term = term
        self.isFreed = isFreed
        self.wanted = wanted
    }
}

/// The decisions of a process that stands by: which of the free shards the process takes, and when. No I/O.
///
/// A lock may be free although the owner still runs: the owner's session has ended, and the owner comes back, or has
/// not noticed. So a shard that was not given up is taken only after it was free for ``ShardRules/grace`` under one
/// term. Before that time is over, the owner's right to forward ends. Only with ``ShardAway/serve`` may the owner
/// still forward.
package struct ShardLook: Sendable {
    private struct Sight {
        var term: ShardTerm
        var wanted: String?
        /// The time of the first look that saw this `term` and this `wanted`.
        var since: NIODeadline
    }

    private let node: String
    private let rules: ShardRules
    private var sights: [Int: Sight] = [:]
    private var refused: [Int: NIODeadline] = [:]

    /// - Parameter node: the name of this process.
    package init(node: String, rules: ShardRules = .standard) {
        self.node = node
        self.rules = rules
    }

    /// The session of the looks has ended. The next session may reach another server, so all waits begin again.
    package mutating func sessionEnded() { self.sights = [:] }

    /// Notes that this node could not serve the shard, for example because it cannot bind a port.
    package mutating func refused(_ shard: Int, now: NIODeadline) { self.refused[shard] = now + self.rules.refusal }

    /// Takes the rows of a look. Returns the shards to take now.
    ///
    /// - Parameters:
    ///   - sentAt: when the look was sent. Its rows may be old when they arrive.
    ///   - kept: the shards that have a keeper in this process.
    package mutating func looked(
        _ rows: [FreeShard],
        sentAt: NIODeadline,
        kept: Set<Int>,
        now: NIODeadline
    ) -> [FreeShard] {
        self.refused = self.refused.filter { now < $0.value }
        var sights: [Int: Sight] = [:]
        var owned = kept.count
        var takes: [FreeShard] = []
        for row in rows where !kept.contains(row.shard) {
            var sight = Sight(term: row.term, wanted: row.wanted, since: now)
            if let old = self.sights[row.shard], old.wanted == row.wanted {
                if old.term == row.term || !self.rules.comparesTerms { sight.since = old.since }
            }
            sights[row.shard] = sight
            guard self.refused[row.shard] == nil, sight.since + self.wait(row, owned: owned) <= max(sentAt, sight.since)
            else { continue }
            owned += 1
            takes.append(row)
        }
        self.sights = sights
        return takes
    }

    private func wait(_ row: FreeShard, owned: Int) -> TimeAmount {
        let grace = row.isFreed ? .zero : self.rules.grace
        switch row.wanted {
        case self.node: return grace
        case nil: return grace + self.spread(owned)
        default: return max(grace, self.rules.rest) + self.spread(owned)
        }
    }

    private func spread(_ owned: Int) -> TimeAmount { min(self.rules.spread * owned, self.rules.widestSpread) }
}
