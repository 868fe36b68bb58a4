package import NIOCore

/// A row of a look: a shard whose lock no session has.
package struct FreeShard: Hashable, Sendable {
    package var shard: Int
    package var term: ShardTerm
    /// Whether its last owner gave it up. Then nobody forwards its notifications.
    package var isFreed: Bool
    /// The node that shall have it next.
    package var wanted: String?

    package init(shard: Int, term: ShardTerm, isFreed: Bool, wanted: String? = nil) {
        self.shard = shard
        self.term = term
        self.isFreed = isFreed
        self.wanted = wanted
    }
}

/// A process that stands by: it looks for free shards, and decides which of them it takes. No I/O.
///
/// A lock may be free although its owner lives: its session ended, and it comes back, or it has not noticed. So a shard
/// is taken only after it was free for ``ShardRules/grace`` under one term. Its owner has stopped forwarding then.
package struct ShardLook: Sendable {
    private struct Sight {
        var term: ShardTerm
        var wanted: String?
        /// The time of the first look that saw it so.
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

    /// The session of the looks has ended. Another one may be with another server, so the wait begins anew.
    package mutating func sessionEnded() { self.sights = [:] }

    /// This node could not serve the shard: its configuration lacks a client.
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
