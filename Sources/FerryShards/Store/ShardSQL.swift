/// The SQL of shards. `PostgresSchema` has the tables and functions. A column that is no number or text has a cast, because
/// rows come in PostgreSQL's binary format.
enum ShardSQL {
    // MARK: Sessions

    /// Makes the server's process keep up to 8 MiB of freed memory, twice the length of the text that is made here.
    /// Otherwise the process returns memory to the system after each commit of 200 KB, and gets it back with 80 page
    /// faults (glibc: mallopt(3), `M_TRIM_THRESHOLD`). The statement takes 6 ms; a single `repeat` of one character
    /// takes 30 ms.
    static let keepMemory: StaticString = "select octet_length(repeat(repeat(' ', 8192), 512))"

    /// The statement that says whether an owner's session can be used.
    static let meta: StaticString = "select version, hash_key from ferry.meta limit 1"

    // MARK: Standing by

    /// All shards. The owner is null if no session has the lock. Each row also has PostgreSQL's time in UNIX seconds.
    static let look: StaticString = """
        select s.id, s.term::text, s.freed, s.wanted, case when exists (
          select from pg_locks l where l.locktype = 'advisory' and l.classid = 1179800153 and l.objid = s.id::int
            and l.objsubid = 2 and l.granted
            and l.database = (select oid from pg_database where datname = current_database())) then s.owner end,
            extract(epoch from clock_timestamp())::bigint
          from ferry.shard s order by s.id
        """

    /// Ends owners' sessions that hang in the middle of a message for 8 s. No time-out of PostgreSQL 15 ends them.
    static let terminate: StaticString = """
        select pg_terminate_backend(a.pid) from pg_stat_activity a join pg_locks l on l.pid = a.pid
         where l.locktype = 'advisory' and l.classid = 1179800153 and l.objsubid = 2 and l.granted
           and l.database = (select oid from pg_database where datname = current_database())
           and a.state <> 'idle' and a.wait_event = 'ClientRead' and a.state_change < clock_timestamp() - interval '8 s'
        """

    // MARK: The owner

    /// The last column is the epoch before the take.
    static let take: StaticString = """
        select t.epoch, t.term::text, t.before::text, t.node, s.epoch
          from ferry.shard s cross join lateral ferry.take($1::int, $2, $3::uuid) t where s.id = $1::int
        """
    /// The second column is the largest number of a segment. A commit that the owner's former session writes at this
    /// moment may be missing there. Such a commit has no answer, and is written again in any case.
    static let retake: StaticString = """
        select ferry.retake($1::int, $2, $3::uuid[], $4, $5::uuid),
          (select max(number) from ferry.segment where shard = $1::int)
        """
    static let append: StaticString = "select ferry.append($1::int, $2::uuid[], $3, $4, $5, $6, $7, $8, $9)"
    /// Sets `ferry.number` to the number before that of the session's first commit: see `ferry.append`.
    static let number: StaticString = "select set_config('ferry.number', $1, false)"
    static let beat: StaticString = """
        select s.wanted, l.number, l.bytes from ferry.shard s left join ferry.late l on l.shard = s.id and not l.done
           and l.number <> all($3::bigint[])
         where s.id = $1::int and s.term = $2::uuid and s.pid = pg_backend_pid() order by l.number limit $4
        """
    static let free: StaticString = "update ferry.shard set freed = true where id = $1::int and term = $2::uuid"
    /// An owner that wrote nothing gives its epoch back, so that repeated tries do not use all epochs up.
    static let freeUnused: StaticString = """
        update ferry.shard set freed = true, epoch = $3 where id = $1::int and term = $2::uuid
        """

    // MARK: Recovery

    static let last: StaticString = "select max(number) from ferry.segment where shard = $1::int"

    /// At most 256 segments, the last of which begins within the first MiB. The length of a segment is known without
    /// reading it.
    static let segments: StaticString = """
        select number, bytes from (
          select number, bytes, sum(octet_length(bytes)) over (order by number) - octet_length(bytes) as before
            from ferry.segment where shard = $1::int and number > $2 order by number limit 256) s
         where before < 1048576 order by number
        """

    // MARK: Rows

    static let habits: StaticString = "select key, value from ferry.habit where key > $1 order by key limit $2"
    static let habitsByKey: StaticString = "select key, value from ferry.habit where key = any($1)"
    static let rows: StaticString = """
        select key, value from ferry.row where shard = $1::int and kind = $2::int and key > $3 order by key limit $4
        """
    static let rowsByKey: StaticString = """
        select key, value from ferry.row where shard = $1::int and kind = $2::int and key = any($3)
        """
    static let rejections: StaticString = """
        select int8send(job), convert_to(line::text, 'UTF8') from ferry.rejection
         where shard = $1::int and job > $2 order by job limit $3
        """

    /// Removes up to 1,000 rejections that are older than `$1` seconds.
    static let forget: StaticString = """
        delete from ferry.rejection where (shard, job) in (
          select shard, job from ferry.rejection where at < now() - $1 * interval '1 s' order by at limit 1000
            for update skip locked
        )
        """

    // MARK: Feedback

    static let begin: StaticString = "begin"
    /// Takes the rows of a client, without the rows that another transaction has locked.
    static let feedback: StaticString = """
        select id, token, since from ferry.feedback where client = $1 order by id for update skip locked limit $2
        """
    static let feedbackRead: StaticString = "delete from ferry.feedback where id = any($1)"
    static let commit: StaticString = "commit"

    // MARK: Sightings

    /// Writes where clients were seen, in the order of the key, so that two reports cannot cause a deadlock. Returns
    /// the clients that another shard saw within two minutes, at most once a minute for each client and address.
    static let reportSightings: StaticString = """
        with report as (
          insert into ferry.seen as s (client, address, shard)
            select * from unnest($1::text[], $2::text[], $3::smallint[]) order by 1, 2
          on conflict (client, address) do update set
            told = case when s.shard <> excluded.shard and s.at > now() - interval '2 min'
              and s.told < now() - interval '1 min' then now() else s.told end,
            other = s.shard, shard = excluded.shard, at = now()
          returning client, address, shard, other, told)
        select client, address, shard, other from report where told = now()
        """
    static let removeSightings: StaticString = """
        delete from ferry.seen where (client, address) in (
          select client, address from ferry.seen where at < now() - interval '1 hour' limit 1000 for update skip locked)
        """

    // MARK: Provider tokens

    /// Writes the offered token under the conditions of ``SharedTokens``.
    static let offerToken: StaticString = """
        insert into ferry.provider_token as p select $1, $2, $3, now() where abs(extract(epoch from now()) - $4) <= 300
         on conflict (team, key_id) do update set jwt = excluded.jwt, minted_at = excluded.minted_at
          where p.minted_at < now() - interval '50 min' or p.jwt = $5::text and p.minted_at < now() - interval '20 min'
        """
    /// The token in the database, and its age in milliseconds.
    static let token: StaticString = """
        select jwt, (extract(epoch from now() - minted_at) * 1000)::bigint from ferry.provider_token
         where team = $1 and key_id = $2
        """
}
