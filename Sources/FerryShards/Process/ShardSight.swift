internal import FerryPostgres

/// A shard as a look saw it.
struct ShardSight: Sendable {
    /// The shard, if no session has its lock.
    var free: FreeShard?
    var term: String
    /// The node that owns the shard; nil if no session has its lock.
    var owner: String?

    /// Reads the rows of a look.
    static func all(_ rows: PostgresRows) -> [Int: ShardSight] {
        var all: [Int: ShardSight] = [:]
        for row in 0..<rows.count {
            guard let shard = rows.integer(row, 0), let term = rows.text(row, 1) else { continue }
            let free = FreeShard(
                shard: Int(shard),
                term: ShardTerm(term),
                isFreed: rows.boolean(row, 2) ?? false,
                wanted: rows.text(row, 3)
            )
            let owner = rows.text(row, 4)
            all[Int(shard)] = ShardSight(free: owner == nil ? free : nil, term: term, owner: owner)
        }
        return all
    }
}
