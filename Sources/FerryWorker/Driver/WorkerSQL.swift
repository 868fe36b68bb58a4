internal import FerryPostgres
internal import NIOCore

/// The statements of a worker.
enum WorkerSQL {
    /// Takes the rows that have been due longest, `$1` at most. ``RowReader`` has the columns.
    ///
    /// A value that is too long for a push is not read: a few values of 100 MB would take longer than a batch may
    /// take. The size of a compressed value says nothing about its text, and a row that was inserted from another
    /// table keeps compressed values.
    static let takeOldest: StaticString = """
        select p.id, case when octet_length(p.client) <= 1024 then p.client end,
            case when octet_length(p.token) <= 1024 then p.token end,
            case when pg_column_size(p.payload) <= 16384
              and (pg_column_compression(p.payload) is null or octet_length(p.payload::text) <= 16384) then p.payload end,
            case when pg_column_size(p.headers) > 4096 or octet_length(p.headers::text) > 4096 then '0'::json
              else p.headers end,
            p.attempts, p.apns_id, p.expires, o.id is not null, coalesce(p.expires <= now(), false)
          from ferry.push p left join ferry.outcome o on o.client = p.client and o.key = p.key
          where p.due <= now() order by p.due, p.id limit $1 for update of p skip locked
        """
    /// Takes rows of the clients in a random order, `$2` at most, and none of the clients in `$1`.
    ///
    /// Each client has the same chance to be first, so no client waits for the million rows of another. The held
    /// clients in `$1` may have millions of rows, too. These rows are not read, because the statement walks from name
    /// to name in the index `push_client`. If an application writes another name into each row, the walk ends after
    /// 10,000 names. The comparison of two columns at once rules out other indexes.
    static let takeByClient: StaticString = """
        with recursive c(client, n) as (
          (select client, 1 from ferry.push order by client limit 1)
          union all
          select (select p.client from ferry.push p where p.client > c.client order by p.client limit 1), n + 1
            from c where c.client is not null and n < 10000
        ), others as materialized (
          select client from c where client <> all($1::text[]) order by random()
        )
        select p.id, case when octet_length(p.client) <= 1024 then p.client end,
            case when octet_length(p.token) <= 1024 then p.token end,
            case when pg_column_size(p.payload) <= 16384
              and (pg_column_compression(p.payload) is null or octet_length(p.payload::text) <= 16384) then p.payload end,
            case when pg_column_size(p.headers) > 4096 or octet_length(p.headers::text) > 4096 then '0'::json
              else p.headers end,
            p.attempts, p.apns_id, p.expires, o.id is not null, coalesce(p.expires <= now(), false)
          from others cross join lateral (
            select * from ferry.push p
              where (p.client, p.due) >= (others.client, '-infinity') and (p.client, p.due) <= (others.client, now())
              order by p.client, p.due, p.id limit $2 for update skip locked
          ) p left join ferry.outcome o on o.client = p.client and o.key = p.key limit $2
        """
    /// Takes the rows of a client, `$1`, that have been due longest, `$2` at most.
    static let takeOfClient: StaticString = """
        select p.id, case when octet_length(p.client) <= 1024 then p.client end,
            case when octet_length(p.token) <= 1024 then p.token end,
            case when pg_column_size(p.payload) <= 16384
              and (pg_column_compression(p.payload) is null or octet_length(p.payload::text) <= 16384) then p.payload end,
            case when pg_column_size(p.headers) > 4096 or octet_length(p.headers::text) > 4096 then '0'::json
              else p.headers end,
            p.attempts, p.apns_id, p.expires, o.id is not null, coalesce(p.expires <= now(), false)
          from ferry.push p left join ferry.outcome o on o.client = p.client and o.key = p.key
          where (p.client, p.due) >= ($1, '-infinity') and (p.client, p.due) <= ($1, now())
          order by p.client, p.due, p.id limit $2 for update of p skip locked
        """
    /// Takes the row of a client, `$1`, that was due last.
    static let takeNewestOfClient: StaticString = """
        select p.id, case when octet_length(p.client) <= 1024 then p.client end,
            case when octet_length(p.token) <= 1024 then p.token end,
            case when pg_column_size(p.payload) <= 16384
              and (pg_column_compression(p.payload) is null or octet_length(p.payload::text) <= 16384) then p.payload end,
            case when pg_column_size(p.headers) > 4096 or octet_length(p.headers::text) > 4096 then '0'::json
              else p.headers end,
            p.attempts, p.apns_id, p.expires, o.id is not null, coalesce(p.expires <= now(), false)
          from ferry.push p left join ferry.outcome o on o.client = p.client and o.key = p.key
          where (p.client, p.due) >= ($1, '-infinity') and (p.client, p.due) <= ($1, now())
          order by p.client desc, p.due desc, p.id desc limit 1 for update of p skip locked
        """
    /// Removes rows and writes their outcomes. Nothing is written for rows that another session has removed: their
    /// outcome is that of the other session. If `$5` is 0, the outcomes of accepted rows are not written.
    ///
    /// Returns the rows that another session has locked, which have to be tried again. That session may not even
    /// deliver them: a row that was hidden while a select looked at it stays locked, although the select does not
    /// return it (postgresql.org/docs, "The Locking Clause").
    static let end: StaticString = """
        with o as (
          select * from unnest($1::bigint[], $2::text[], $3::smallint[], $4::text[]) o(id, word, status, reason)
        ), l as materialized (
          select o.* from o join ferry.push p using (id) for update of p skip locked
        ), d as (
          delete from ferry.push p using l where p.id = l.id
            returning p.id, p.client, p.key, p.apns_id, l.word, l.status, l.reason
        ), w as (
          insert into ferry.outcome (id, client, key, word, status, reason, apns_id)
            select id, client, case when word <> 'duplicate' then key end, word, status, reason, apns_id
              from d where $5 <> 0 or word <> 'accepted'
            on conflict do nothing
        )
        select o.id from o join ferry.push p using (id)
          where (select count(*) from l) < (select count(*) from o) and o.id not in (select id from l)
        """
    /// Sets when rows are due: `$2` milliseconds from now. Adds `$3` to their attempts. Returns the rows that another
    /// session has locked, as ``end`` does.
    static let delay: StaticString = """
        with o as (
          select * from unnest($1::bigint[], $2::bigint[], $3::smallint[]) o(id, ms, more)
        ), l as materialized (
          select o.* from o join ferry.push p using (id) for update of p skip locked
        ), u as (
          update ferry.push p set due = clock_timestamp() + l.ms * interval '1 ms',
              attempts = least(p.attempts, 1000000) + l.more
            from l where p.id = l.id
        )
        select o.id from o join ferry.push p using (id)
          where (select count(*) from l) < (select count(*) from o) and o.id not in (select id from l)
        """
    /// Removes up to 5,000 outcomes that are older than `$1` seconds.
    static let forget: StaticString = """
        delete from ferry.outcome where id in (
          select id from ferry.outcome where at < now() - $1 * interval '1 s' order by at limit 5000 for update skip locked
        )
        """
    /// Three columns. The first is the number of due rows, 100,000 at most. The second is how long the oldest row has
    /// been due, in milliseconds. The third is the age of the oldest other transaction in the database, in
    /// milliseconds.
    static let look: StaticString = """
        select count(*), coalesce((extract(epoch from now() - min(greatest(due, '2000-01-01'))) * 1000)::bigint, 0), (
            select coalesce((extract(epoch from max(now() - xact_start)) * 1000)::bigint, 0) from pg_stat_activity
              where datname = current_database() and pid <> pg_backend_pid()
          )
          from (select due from ferry.push where due <= now() order by due limit 100000) p
        """

    /// The settings of a session that takes rows. They lead plans to indexes, because the statistics of a queue are
    /// never right. `jit` is off: compiling ``takeByClient`` takes 100 to 300 ms, and the statement itself takes less
    /// than 1 ms.
    static let parameters = PostgresSettings.committing.merging([
        "idle_in_transaction_session_timeout": "10s", "enable_seqscan": "off", "enable_bitmapscan": "off",
        "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
    ]) { $1 }

    /// The statements that make the changes of a write.
    static func statements(_ write: BatchMachine.Write, keepsAccepted: Bool) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !write.endings.isEmpty {
            statements.append(
                PostgresStatement(
                    Self.end,
                    [
                        .integers(write.endings.map(\.id)), .texts(write.endings.map(\.ending.word.rawValue)),
                        .smallIntegers(write.endings.map(\.ending.status)),
                        .texts(write.endings.map(\.ending.reason)), .integer(keepsAccepted ? 1 : 0),
                    ]
                )
            )
        }
        if !write.delays.isEmpty {
            statements.append(
                PostgresStatement(
                    Self.delay,
                    [
                        .integers(write.delays.map(\.id)),
                        .integers(write.delays.map { $0.by.nanoseconds / 1_000_000 }),
                        .smallIntegers(write.delays.map(\.attempts)),
                    ]
                )
            )
        }
        return statements
    }
}
