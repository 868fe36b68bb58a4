/// The tables and functions of Ferry in a PostgreSQL database, in the schema `ferry`.
///
/// Processes of two adjacent versions of Ferry may use one database. So a later version gives a changed function a new
/// name, and a new column a default.
package enum PostgresSchema {
    /// The version that this build reads and writes.
    package static let version = 1

    /// Whether this build can use tables of a version: ``version`` or the next version, because gateways run on
    /// during a migration.
    package static func accepts(_ found: Int) -> Bool { (Self.version...Self.version + 1).contains(found) }

    /// The first number of the advisory locks of shards. The second one is the shard.
    package static let lockClass = 1_179_800_153
    /// The largest number of shards.
    package static let largestShardCount = 1024

    /// The parts of the schema, in the order in which they are made.
    static let statements: [StaticString] = Self.tables + Self.functions

    private static let tables: [StaticString] = [
        """
        create schema ferry
        """,
        // The version of the schema, and the key of the replay filter's hash.
        """
        create table ferry.meta (version int not null, hash_key bytea not null)
        """,
        // `node` is random and never changes, because the gateway makes `apns-id`s of it. Numbers of segments,
        // connections and jobs begin at `epoch << 40`. `term` changes with each `ferry.take` and each `ferry.retake`.
        // `freed`: the owner gave the shard up with nothing in flight. `wanted`: the node that shall have the shard
        // next.
        """
        create table ferry.shard (
          id smallint primary key,
          node bigint not null,
          epoch bigint not null default 0,
          term uuid not null default gen_random_uuid(),
          owner text not null default '',
          freed boolean not null default true,
          wanted text,
          pid int, backend_start timestamptz);
        """,
        """
        create table ferry.segment (shard smallint, number bigint, bytes bytea not null, primary key (shard, number))
        """,
        // Segments of a former owner, which the present owner takes over.
        """
        create table ferry.late (shard smallint, number bigint, bytes bytea not null, done boolean not null default false,
          at timestamptz not null default now(), primary key (shard, number))
        """,
        // The last segment that each former owner had written when its shard was taken.
        """
        create table ferry.taken (shard smallint, term uuid, last bigint not null, at timestamptz not null default now(),
          primary key (shard, term))
        """,
        """
        create table ferry.habit (key bytea primary key, value bytea not null)
        """,
        // The rows of a shard's other tables (`StoreTable`): list, gates, letters and copy.
        """
        create table ferry.row (shard smallint, kind smallint, key bytea, value bytea not null, primary key (shard, kind, key))
        """,
        // The shard at which a client was last seen from an address. `other` is the shard of the report before.
        // `told` is the time of the last alarm that two shards saw the client.
        """
        create table ferry.seen (client text, address text, shard smallint not null, at timestamptz not null default now(),
          other smallint, told timestamptz not null default '-infinity', primary key (client, address))
        """,
        """
        create table ferry.feedback (id bigint generated always as identity primary key,
          client text not null, token bytea not null, since bigint not null)
        """,
        """
        create index on ferry.feedback (client, token)
        """,
        """
        create table ferry.rejection (shard smallint, job bigint, at timestamptz not null default now(), line jsonb not null,
          primary key (shard, job))
        """,
        """
        create index on ferry.rejection (at)
        """,
        """
        create table ferry.provider_token (team text, key_id text, jwt text not null, minted_at timestamptz not null,
          primary key (team, key_id))
        """,
        """
        alter table ferry.segment alter bytes set storage external
        """,
        """
        alter table ferry.late alter bytes set storage external
        """,
        // The queue that an application fills. The application chooses `key`; a client has at most one push with a key.
        """
        create table ferry.push (
          id bigint generated always as identity primary key,
          key text,
          client text not null, token text not null, payload json not null,
          headers json,
          due timestamptz not null default now(), expires timestamptz,
          attempts int not null default 0, apns_id uuid not null default gen_random_uuid())
        """,
        // The worker looks at the length of these values before it reads them, and the length of a compressed value says
        // nothing about its text.
        """
        alter table ferry.push alter client set storage external, alter token set storage external,
          alter payload set storage external, alter headers set storage external
        """,
        """
        create unique index push_key on ferry.push (client, key) where key is not null
        """,
        """
        create index push_due on ferry.push (due, id)
        """,
        """
        create index push_client on ferry.push (client, due, id)
        """,
        """
        create table ferry.outcome (
          id bigint primary key, client text not null, key text, word text not null, status smallint, reason text,
          apns_id uuid not null, at timestamptz not null default now())
        """,
        """
        create unique index outcome_key on ferry.outcome (client, key) where key is not null
        """,
        """
        create index outcome_at on ferry.outcome (at)
        """,
        """
        alter table ferry.segment set (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.02,
          toast.vacuum_truncate = off, toast.autovacuum_vacuum_scale_factor = 0.02)
        """,
        """
        alter table ferry.late set (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.02,
          toast.vacuum_truncate = off, toast.autovacuum_vacuum_scale_factor = 0.02)
        """,
        """
        alter table ferry.push set (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.02,
          toast.vacuum_truncate = off, toast.autovacuum_vacuum_scale_factor = 0.02)
        """,
    ]

    private static let functions: [StaticString] = [
        // Takes a shard for this session. Returns no row if another session has the shard. Returns no row either if
        // the shard's term is not `_seen`: an owner has taken or retaken the shard meanwhile. Epochs end at 2^22
        // (`Journal.epochs`). The gap to the next epoch is random: 256 at most at first, and 1 at the end. So a shard
        // can be taken some 184,000 times.
        """
        create function ferry.take(_shard int, _owner text, _seen uuid) returns table (epoch bigint, term uuid, before uuid, node bigint)
        language plpgsql as $$
        #variable_conflict use_column
        declare old ferry.shard;
        begin
          if not pg_try_advisory_lock(1179800153, _shard) then return; end if;
          select * into strict old from ferry.shard where id = _shard for update;
          if old.term <> _seen then perform pg_advisory_unlock(1179800153, _shard); return; end if;
          insert into ferry.taken (shard, term, last)
            select _shard, old.term, coalesce(max(number), 0) from ferry.segment where shard = _shard
            on conflict (shard, term) do update set last = excluded.last, at = now();
          delete from ferry.taken where shard = _shard and at < now() - interval '60 days';
          delete from ferry.late where shard = _shard and done and at < now() - interval '1 day';
          return query update ferry.shard set
              epoch = old.epoch + 1 + floor(random() * greatest((4194304 - old.epoch) / 16384, 1))::int,
              term = gen_random_uuid(), owner = _owner, freed = false, wanted = null, pid = pg_backend_pid(),
              backend_start = (select a.backend_start from pg_stat_activity a where a.pid = pg_backend_pid())
            where id = _shard returning epoch, term, old.term, node;
        end $$
        """,
        // Takes a shard again after its session has ended. Returns the new term; `busy` while a session has the lock;
        // `fenced` if another owner took the shard since. With `busy`, the function ends the owner's earlier session.
        // The caller chooses the term, so that the caller knows it even if the answer is lost.
        """
        create function ferry.retake(_shard int, _owner text, _terms uuid[], _epoch bigint, _fresh uuid) returns text
        language plpgsql as $$
        declare old ferry.shard;
        begin
          select * into strict old from ferry.shard where id = _shard;
          if not old.term = any(_terms) then return 'fenced'; end if;
          if not pg_try_advisory_lock(1179800153, _shard) then
            perform pg_terminate_backend(pid) from pg_stat_activity
              where pid = old.pid and backend_start = old.backend_start and old.owner = _owner;
            return 'busy';
          end if;
          select * into strict old from ferry.shard where id = _shard for update;
          if not old.term = any(_terms) then perform pg_advisory_unlock(1179800153, _shard); return 'fenced'; end if;
          update ferry.shard set epoch = _epoch, term = _fresh, owner = _owner, freed = false, pid = pg_backend_pid(),
              backend_start = (select backend_start from pg_stat_activity where pid = pg_backend_pid())
            where id = _shard;
          return _fresh::text;
        end $$
        """,
        // Writes a group commit. Returns false if the session does not own the shard. Then `ferry.late` gets the
        // segment if the new owner has not read it. An owner's commits come in order: after a refused commit, the
        // commits that are on their way are refused, too. Otherwise `ferry.taken.last` of the next take would cover
        // the refused commit, and its owner could not hand its segment over. `ferry.number` is the number of the
        // session's last commit.
        """
        create function ferry.append(_shard int, _terms uuid[], _number bigint, _bytes bytea, _drops bigint[], _late bigint[],
          _kinds smallint[], _keys bytea[], _values bytea[]) returns boolean
        language plpgsql as $$
        declare
          ours boolean;
          written bigint := 0;
        begin
          ours := exists (select from ferry.shard where id = _shard and term = any(_terms) and pid = pg_backend_pid());
          if ours then
            if nullif(current_setting('ferry.number', true), '')::bigint <> _number - 1 then
              raise 'The commit before % was refused.', _number;
            end if;
            perform set_config('ferry.number', _number::text, false);
            insert into ferry.segment values (_shard, _number, _bytes)
              on conflict (shard, number) do update set bytes = excluded.bytes;
            if _drops <> '{}' then delete from ferry.segment where shard = _shard and number = any(_drops); end if;
            if _late <> '{}' then
              update ferry.late set done = true, bytes = '' where shard = _shard and number = any(_late);
            end if;
          elsif _number > coalesce((select max(last) from ferry.taken where shard = _shard and term = any(_terms)), 0)
            and not exists (select from ferry.segment where shard = _shard and number = _number) then
            insert into ferry.late (shard, number, bytes) values (_shard, _number, _bytes) on conflict do nothing;
            get diagnostics written = row_count;
          end if;
          if _kinds <> '{}' and (ours or written > 0) then perform ferry.change(_shard, _kinds, _keys, _values); end if;
          return ours;
        end $$
        """,
        // Changes rows. Kinds: 1 feedback (key: length of the client's name, name, token; value: time), 2 habit, 3
        // rejection (key: job; value: line), from 4 on `ferry.row`. Feedback rows are added, or removed if no reader
        // has locked them, but never updated. So `append` never waits for a reader of the feedback list. Habits are
        // added in the order of their keys, so that two shards do not deadlock.
        """
        create function ferry.change(_shard int, _kinds smallint[], _keys bytea[], _values bytea[]) returns void
        language plpgsql as $$
        begin
          delete from ferry.habit h using unnest(_kinds, _keys, _values) c(kind, key, value)
            where c.kind = 2 and c.value is null and h.key = c.key;
          insert into ferry.habit select c.key, c.value from unnest(_kinds, _keys, _values) c(kind, key, value)
            where c.kind = 2 and c.value is not null order by c.key on conflict (key) do update set value = excluded.value;
          insert into ferry.rejection (shard, job, line)
            select _shard, ('x' || encode(c.key, 'hex'))::bit(64)::bigint, convert_from(c.value, 'UTF8')::jsonb
            from unnest(_kinds, _keys, _values) c(kind, key, value) where c.kind = 3 on conflict do nothing;
          delete from ferry.row r using unnest(_kinds, _keys, _values) c(kind, key, value)
            where c.kind > 3 and c.value is null and r.shard = _shard and r.kind = c.kind and r.key = c.key;
          insert into ferry.row select _shard, c.kind, c.key, c.value from unnest(_kinds, _keys, _values) c(kind, key, value)
            where c.kind > 3 and c.value is not null
            on conflict (shard, kind, key) do update set value = excluded.value;
          delete from ferry.feedback where id in (
            select f.id from unnest(_kinds, _keys, _values) c(kind, key, value)
              join ferry.feedback f on f.client = convert_from(substr(c.key, 2, get_byte(c.key, 0)), 'UTF8')
                and f.token = substr(c.key, get_byte(c.key, 0) + 2)
            where c.kind = 1 and c.value is null for update of f skip locked);
          insert into ferry.feedback (client, token, since)
            select x.client, x.token, x.since from (
              select convert_from(substr(c.key, 2, get_byte(c.key, 0)), 'UTF8') client, substr(c.key, get_byte(c.key, 0) + 2) token,
                ('x' || encode(c.value, 'hex'))::bit(32)::bigint since
              from unnest(_kinds, _keys, _values) c(kind, key, value) where c.kind = 1 and c.value is not null) x
            where not exists (select from ferry.feedback f where f.client = x.client and f.token = x.token);
        end $$
        """,
        // Adds shards. Clients then go to other shards than before, so all sightings (`ferry.seen`) are removed.
        """
        create function ferry.add(_first int, _end int) returns void language sql as $$
          delete from ferry.seen;
          insert into ferry.shard (id, node) select g, ('x' || left(replace(gen_random_uuid()::text, '-', ''), 16))::bit(64)::bigint
            from generate_series(_first, _end - 1) g;
        $$
        """,
        """
        create function ferry.init(_shards int) returns void language sql as $$
          insert into ferry.meta values (1, decode(replace(gen_random_uuid()::text, '-', ''), 'hex'));
          select ferry.add(0, _shards);
        $$
        """,
    ]
}
