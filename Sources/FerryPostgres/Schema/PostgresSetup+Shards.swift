/// A shard as the database has it.
package struct PostgresShard: Hashable, Sendable, Codable {
    package var shard: Int
    /// The node that owns the shard, or owned it last; empty before the first owner.
    package var owner: String
    /// Whether a session holds the shard's lock.
    package var isOwned: Bool
    /// The node that shall have the shard next; nil if no node is named.
    package var wanted: String?
    package var segments: Int
    package var segmentBytes: Int
    /// The number of segments of former owners that the present owner has not taken over.
    package var lateSegments: Int

    package init(
        shard: Int,
        owner: String,
        isOwned: Bool,
        wanted: String? = nil,
        segments: Int,
        segmentBytes: Int,
        lateSegments: Int
    ) {
        self.shard = shard
        self.owner = owner
        self.isOwned = isOwned
        self.wanted = wanted
        self.segments = segments
        self.segmentBytes = segmentBytes
        self.lateSegments = lateSegments
    }

    private enum CodingKeys: String, CodingKey {
        case shard, owner, wanted, segments, segmentBytes, lateSegments
        case isOwned = "owned"
    }
}

extension PostgresSetup {
    /// The shards, in the order of their numbers.
    package func shards() async throws(PostgresError) -> [PostgresShard] {
        let rows = try await self.run(
            """
            select s.id, s.owner, s.wanted, exists (select from pg_locks l where l.locktype = 'advisory'
                and l.classid = 1179800153 and l.objid = s.id::int and l.objsubid = 2 and l.granted
                and l.database = (select oid from pg_database where datname = current_database())),
              (select count(*) from ferry.segment g where g.shard = s.id),
              (select coalesce(sum(length(g.bytes)), 0)::bigint from ferry.segment g where g.shard = s.id),
              (select count(*) from ferry.late l where l.shard = s.id and not l.done)
            from ferry.shard s order by s.id
            """
        )
        return (0..<rows.count).map { row in
            PostgresShard(
                shard: Int(rows.integer(row, 0) ?? 0),
                owner: rows.text(row, 1) ?? "",
                isOwned: rows.boolean(row, 3) ?? false,
                wanted: rows.text(row, 2),
                segments: Int(rows.integer(row, 4) ?? 0),
                segmentBytes: Int(rows.integer(row, 5) ?? 0),
                lateSegments: Int(rows.integer(row, 6) ?? 0)
            )
        }
    }

    /// Returns the address of a gateway process that is connected with this name, or words for a Unix socket; nil if
    /// no such process is connected.
    package func namesake(of node: String) async throws(PostgresError) -> String? {
        let found = try await self.run(
            """
            select coalesce(host(client_addr), 'the machine of PostgreSQL') from pg_stat_activity
             where datname = current_database() and application_name = 'ferry ' || $1 limit 1
            """,
            [.text(node)]
        )
        return found.text(0, 0)
    }

    /// Asks the owner of a shard to hand the shard over to a node. Does not wait for that.
    ///
    /// - Throws: ``PostgresError`` with a sentence, also if there is no such shard, if the node has the shard, or if
    ///   no gateway with the name of the node is connected.
    package func move(_ shard: Int, to node: String) async throws(PostgresError) {
        let known = try await self.run(
            """
            select exists (select from pg_stat_activity where datname = current_database()
              and application_name not in ('ferry store', 'ferry worker')
              and (application_name = 'ferry ' || $1 or starts_with(application_name, 'ferry ' || $1 || ' ')))
            """,
            [.text(node)]
        )
        guard known.boolean(0, 0) == true else {
            throw PostgresError(.unusable, "No gateway with the name \(node) is connected: see ferry store status.")
        }
        let found = try await self.run(
            """
            select s.owner = $2 and exists (select from pg_locks l where l.locktype = 'advisory'
                and l.classid = 1179800153 and l.objid = s.id::int and l.objsubid = 2 and l.granted
                and l.database = (select oid from pg_database where datname = current_database()))
              from ferry.shard s where s.id = $1::bigint
            """,
            [.integer(Int64(shard)), .text(node)]
        )
        guard let isThere = found.boolean(0, 0) else {
            throw PostgresError(.unusable, "There is no shard \(shard).")
        }
        guard !isThere else { throw PostgresError(.unusable, "\(node) has shard \(shard) already.") }
        try await self.run(
            "update ferry.shard set wanted = $2 where id = $1::bigint",
            [.integer(Int64(shard)), .text(node)]
        )
    }
}
