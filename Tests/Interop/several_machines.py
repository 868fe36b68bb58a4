"""Three gateways with eight shards on one PostgreSQL, behind HAProxy, in trouble; and workers of the queue.

Usage: several_machines.py FERRY [--times N] [--seconds N] [--rows N] [--jobs N] [NAME...]

FERRY is a build with the trait PostgreSQL. Each client has a source address of its own, and connects again through
HAProxy. In each scene, something happens to a gateway or to PostgreSQL while the clients send. Prints each promise, and
fails at the first one that does not hold.
"""

import argparse
import contextlib
import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from postgres_server import Postgres, Relay, cut
from several_clients import BAD, GONE, Circling, FeedbackReader, Flood, Late, LatePath, Sender
from several_site import AROUND, DATABASES, MACHINES, MIXTURE, NUMBERS, PROGRAMS, SHARDS, SOURCES, Site
from several_worker import examples, worker
from stage import PATIENCE, eventually, free_port, haproxy, holds, is_open


def healthy(site, options):
    site.scene("healthy", lambda: None, rate=100)


def many(site, options):
    """2,000 pushes of each model of an old program, some of which come twice on purpose. Two have four connections."""
    programs = MIXTURE + PROGRAMS[:1] * 4 + [("127.0.4.2", Circling)] * 4
    # Nine of 2,000 are refused.
    site.scene("many", lambda: None, rate=300, least=2000, bad_every=220, twice_every=10, programs=programs)


def killed(site, options):
    """The owner of a shard is killed. Clients pause: what was read in the last commit may be lost, and what they write
    until they see the end of their connection.
    """

    def event():
        for time_ in range(options.times):
            number = time_ % len(MACHINES) + 1
            site.paused.set()
            time.sleep(AROUND * site.slow)
            with site.fault():
                site.kill(number)
            killed_at = time.monotonic()
            time.sleep(AROUND * site.slow)
            site.paused.clear()
            site.new_owners(number, 10, killed_at)
            site.start(number)
            time.sleep(2)

    site.scene("killed", event)


def busy(site, options):
    """The owner of a shard is killed while all clients send. What was written around the kill may be lost: it was not
    stored, or its program had not yet seen the end of its connection.
    """
    kills = []

    def event():
        for time_ in range(options.times):
            number = time_ % len(MACHINES) + 1
            with site.fault():
                site.kill(number)
            kills.append(time.monotonic())
            site.new_owners(number, 10, kills[-1])
            # Clients connect again meanwhile.
            time.sleep(4)
            site.start(number)
            time.sleep(2)

    def was_around_a_kill(sender, place):
        around = AROUND * site.slow
        return any(kill - around < time_ < kill + around for kill in kills for time_ in sender.sent_at[place])

    # A process may be killed in the middle of a handshake.
    senders = site.scene("busy", event, rate=60, is_spared=was_around_a_kill, is_away=True)
    for kill in kills:
        seconds = 10 * site.slow
        late = [sender.source for sender in senders if not site.delivers_after(sender, kill, seconds)]
        holds(f"each client delivers again within {seconds} s after the kill", not late, *late)
    places = ((sender, place) for sender in senders for place in range(len(sender.pushes)))
    around = {sender.pushes[place].hex() for sender, place in places if was_around_a_kill(sender, place)}
    lost = [push for push in around if not push.startswith((BAD, GONE)) and not site.arrivals.count(push)]
    print(f"of {len(around)} pushes that were written around the kills, {len(lost)} are lost", flush=True)


def paused(site, options):
    """A gateway is stopped for 15 s. It wakes without the right, and hands over what it had read."""

    def event():
        for time_ in range(options.times):
            number = time_ % len(MACHINES) + 1
            process = site.gateways[number].process
            begin = time.monotonic()
            with site.fault():
                process.send_signal(signal.SIGSTOP)
            site.new_owners(number, 12)
            time.sleep(max(0, begin + 15 - time.monotonic()))
            # The turn of the event loop that was stopped may end.
            with site.fault():
                process.send_signal(signal.SIGCONT)
            time.sleep(5)
            sent = site.metric(number, "ferry_shard_sent_without_right_total")
            print(f"gw{number} sent {sent:.0f} without the right, in the turn that was stopped", flush=True)
            late = sum(site.metric(other, "ferry_shard_late_frames_total") for other in NUMBERS)
            print(f"{late:.0f} pushes were handed over or taken over", flush=True)

    site.scene("paused", event, is_away=True)


def middle(site, options):
    """A gateway is stopped in the middle of messages to PostgreSQL, at eight places, and another one at two."""
    # Bytes that have passed; below zero, bytes that have not. The last five bytes are Sync.
    places = [1, 2, 4, 5, 6, 30, 100, -1, -4, -5]
    relays = {number: Relay(DATABASES[number - 1], site.postgres.port) for number in NUMBERS}
    connection = "host=127.0.0.1 port={} user=ferry dbname=ferry sslmode=disable"
    site.end()
    for number in NUMBERS:
        site.configure(number, postgres=connection.format(relays[number].port))
        site.start(number)
        # The gateway that starts alone owns all shards.
        holds("all shards are owned", eventually(site.all_owned))

    def stop(number):
        process = site.gateways[number].process
        with site.fault():
            held = relays[number].hold_next([places.pop(0) for _ in site.shards(number) if places])
            process.send_signal(signal.SIGSTOP)
        print(f"gw{number} is stopped after these bytes:", *held, sep="\n  ")
        site.new_owners(number, 18)
        with site.fault():
            relays[number].go_on()
            process.send_signal(signal.SIGCONT)
        time.sleep(5)

    def event():
        stop(1)
        while places:
            stop(max(NUMBERS, key=lambda number: len(site.shards(number))))

    site.scene("middle", event, is_away=True)


def cut_off(site, options):
    """A gateway and PostgreSQL cannot reach each other: both ways, or one way alone."""
    ways = [(True, True), (False, True), (True, False)]

    def cut_from(number, way):
        return cut(DATABASES[number - 1], site.postgres.port, *way)

    def event():
        for seconds in (2, 5):
            before = site.owners()
            with contextlib.ExitStack() as stack:
                for number, way in zip(NUMBERS, ways):
                    stack.enter_context(cut_from(number, way))
                time.sleep(seconds)
            time.sleep(5)
            holds(f"no shard has changed its owner after a cut of {seconds} s", site.owners() == before, site.owners())
        for number, way in list(zip(NUMBERS, ways))[: options.times]:
            begin = time.monotonic()
            # The right to forward ends after 3 s.
            with cut_from(number, way):
                with site.fault(3):
                    pass
                site.new_owners(number, 13)
                time.sleep(max(0, begin + 20 - time.monotonic()))
            with site.fault():
                pass
            time.sleep(4)

    site.scene("cut_off", event, is_away=True)


def database_restarts(site, options):
    """PostgreSQL crashes and starts again. Every owner comes back."""
    before = site.owners()

    def event():
        for _ in range(options.times):
            site.postgres.stop()
            site.postgres.start()
            time.sleep(3)

    site.scene("database_restarts", event, is_away=True)
    holds("no shard has changed its owner", site.owners() == before, before)


def sessions_end(site, options):
    """An operator ends every session."""
    before = site.owners()

    end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^ferry'"

    def event():
        for _ in range(options.times):
            site.postgres.query(end)
            time.sleep(2)

    site.scene("sessions_end", event)
    holds("no shard has changed its owner", site.owners() == before, before)


def rolling_upgrade(site, options):
    """Each gateway is ended, and started again."""

    def event():
        for number in NUMBERS:
            site.end([number])
            site.start(number)
            holds(f"each shard has an owner after gw{number} was replaced", eventually(site.all_owned))
            # A client that waits finds the new owner, and need not wait for the next one, too.
            time.sleep(2)

    give_up(site, "rolling_upgrade", event, options.times)


def give_up(site, name, event, times):
    """Lets `event` give all shards up some times while all models of old programs send, and once while they pause."""
    # The gateways remember the habits of an address, and an earlier scene may have shown others. So these scenes have
    # addresses of their own.
    places = {"rolling_upgrade": 11, "moved": 12}
    programs = PROGRAMS + [(f"127.0.{places[name]}.{number}", model) for number, (_, model) in enumerate(MIXTURE, 1)]

    def repeat():
        for _ in range(times):
            event()

    def pause():
        site.paused.set()
        time.sleep(1)
        event()
        site.paused.clear()

    check_ends(site.scene(name, repeat, programs=programs), 18 * site.slow)
    site.spread()
    # No push is refused, so each connection ends with status 10.
    senders = site.scene(f"{name} in a pause", pause, least=20, bad_every=1_000_000, programs=programs)
    check_ends(senders, 4 * site.slow)


def check_ends(senders, seconds):
    longest = max(senders, key=lambda sender: sender.longest)
    # The handshake itself comes on top.
    is_soon = longest.longest <= seconds + 0.5
    holds(f"a new connection waits {seconds} s at most", is_soon, f"{type(longest).__name__} {longest.longest:.1f} s")
    untold = [sender for sender in senders if sender.is_told_the_end and sender.silent_ends]
    for sender in untold:
        sender.print_story()
    sources = [sender.source for sender in untold]
    holds("each client that can place it hears status 10 or 8 at the end of its connection", not untold, sources)


def reloaded(site, options):
    """Each gateway takes another configuration, whose upstream has other connections, and refuses a faulty one."""

    def ask(number, *arguments):
        """The exit status and the words of an administrator's command."""
        command = [site.ferry, "gateway", *arguments, "--socket", f"{site.identity}/admin{number}"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        return answer.returncode, (answer.stdout + answer.stderr).strip()

    def event():
        for time_ in range(options.times):
            for number in NUMBERS:
                site.configure(number, ping=31 + time_)
                status, words = ask(number, "reload")
                is_taken = status == 0 and "upstreams changed: apns" in words
                holds(f"gw{number} takes the configuration", is_taken, words)
                configuration = pathlib.Path(site.configuration(number))
                good = configuration.read_text()
                configuration.write_text(good.replace("server.pem", "client-key.pem"))
                status, words = ask(number, "reload")
                holds(f"gw{number} refuses a faulty one", status == 2, words)
                configuration.write_text(good)
                time.sleep(0.5)

    site.scene("reloaded", event, rate=40)
    statuses = [json.loads(ask(number, "status", "--json")[1]) for number in NUMBERS]
    own = [sum("inFlight" in shard for shard in status["shards"]) for status in statuses]
    seen = [len([shard for shard in status["shards"] if shard.get("owner")]) for status in statuses]
    is_whole = sum(own) == SHARDS and min(seen) == SHARDS
    holds("each status shows all shards, and each shard has one owner", is_whole, own, seen)
    holds("nothing waits", all(status["unanswered"] == 0 for status in statuses))


def misrouted(site, options):
    """A balancer sends each client to two shards in turn."""
    sources = [f"127.0.6.{number}" for number in range(1, len(SOURCES) + 1)]
    port, other = free_port(), free_port()
    changes = {
        "^  use_backend shard.*$": f"  bind 127.0.0.1:{other}\n"
        f"  use_backend shard6 if {{ dst_port {port} }}\n  use_backend shard1",
        **site.changes(),
    }

    def event():
        begin = time.monotonic()
        is_named = eventually(lambda: set(sources) <= {source for source, _, _ in site.misrouted()})
        passed = time.monotonic() - begin
        named = site.misrouted()
        holds("the alarm names each client with its address within a minute", is_named, f"after {passed:.1f} s")
        holds("it names both shards, once", named == {(source, 1, 6): 1 for source in sources}, dict(named))

    with haproxy("shards.cfg", changes, port):
        programs = [(source, Sender) for source in sources]
        site.scene("misrouted", event, programs=programs, ports=[port, other])
    count = sum(site.metric(number, "ferry_shard_misrouted_total") for number in NUMBERS)
    holds("the metric counts the alarms", count == sum(site.misrouted().values()), count)


def moved(site, options):
    """Each shard moves to another gateway."""

    give_up(site, "moved", lambda: move_all(site), options.times)


def move_all(site):
    wanted = {shard: f"gw{int(owner[2:]) % len(MACHINES) + 1}" for shard, owner in site.owners().items()}
    for shard, node in wanted.items():
        site.store("move", str(shard), node)
    holds("each shard moves", eventually(lambda: site.owners() == wanted), wanted)


def flooded(site, options):
    """The gateway of a flooded shard is stopped for 15 s, and the shard moves. Another client sends a push each second,
    in that shard and in one without a flood.
    """
    shards = site.shards(1)[:2]
    (beside, flood), (alone, _) = site.sources_of(shards, 2)
    site.strangers = {flood}
    floods, begun_at = [threading.Event(), threading.Event()], []

    def begin_flood():
        floods[len(begun_at)].set()
        begun_at.append(time.monotonic())
        time.sleep(0.2)

    def event():
        begin_flood()
        process = site.gateways[1].process
        begin = time.monotonic()
        with site.fault():
            process.send_signal(signal.SIGSTOP)
        site.new_owners(1, 12)
        time.sleep(max(0, begin + 15 - time.monotonic()))
        with site.fault():
            process.send_signal(signal.SIGCONT)
        time.sleep(5)
        begin_flood()
        for shard in shards:
            site.store("move", str(shard), "gw1")
        holds("both shards move", eventually(lambda: set(shards) <= set(site.shards(1))))
        time.sleep(5)

    programs = [(beside, Sender), (alone, Sender)]
    programs += [(flood, functools.partial(Flood, begin=begin)) for begin in floods]
    senders = site.scene("flooded", event, rate=1, least=0, bad_every=1_000_000, programs=programs)
    for words, sender in zip(("beside the floods", "without a flood"), senders):
        delays = list(site.delays(sender))
        stop, move = (
            max(delay for sent, delay in delays if begin <= sent < end)
            for begin, end in zip(begun_at, [begun_at[1], time.monotonic()])
        )
        print(
            f"{words}: longest {stop:.2f} s around the stop, {move:.2f} s around the move, "
            f"and {sender.longest:.1f} s for a handshake", flush=True,
        )


def late(site, options):
    """Clients hear everything 2 s late. A gateway is killed while error responses are on their way, and shards move."""
    with contextlib.ExitStack() as stack:
        # The gateway sees how late half of the clients are, because their handshakes are.
        paths = [LatePath(site.port, Late.lateness, age) for age in (0, 3)]
        for path in paths:
            stack.callback(path.close)

        def program(number):
            def model(*arguments):
                return Late(*arguments[:-1], [paths[number % 2].port])

            return f"127.0.10.{number}", model

        def event():
            time.sleep(9)
            for number in NUMBERS[: options.times]:
                site.paused.set()
                time.sleep(AROUND * site.slow)
                with site.fault():
                    site.kill(number)
                killed_at = time.monotonic()
                # What a client writes before it hears of the end is lost.
                time.sleep(Late.lateness + 1)
                site.paused.clear()
                site.new_owners(number, 10, killed_at)
                site.start(number)
                time.sleep(5)
            move_all(site)

        programs = [program(number) for number in range(1, 17)]
        site.scene("late", event, rate=4, least=0, bad_every=12, programs=programs, is_away=True)


def readers(site, options):
    """Two programs read the feedback of one client on two machines. One is killed in the middle, then a gateway is."""
    site.postgres.query("truncate ferry.feedback")
    site.postgres.query(
        "insert into ferry.feedback (client, token, since) select 'shop', sha256(g::text::bytea), 1700000000 "
        f"from generate_series(1, {options.rows}) g"
    )
    told, spans = [], []

    def begin(number):
        reader = FeedbackReader(site, MACHINES[number - 1], site.feedback)
        holds(f"a reader has begun at gw{number}", reader.read_some() > 0)
        return reader

    def read(number):
        told.append(FeedbackReader(site, MACHINES[number - 1], site.feedback).read_all())
        return len(told[-1])

    def event():
        before = time.monotonic()
        time.sleep(5)
        spans.append((before, time.monotonic()))
        before = time.monotonic()
        first = begin(1)
        read(2)
        # The transaction of the first reader is open meanwhile.
        time.sleep(5)
        spans.append((before, time.monotonic()))
        first.kill()
        time.sleep(2)
        # The rows of the first reader are there again. So are they if its gateway is killed.
        site.paused.set()
        time.sleep(AROUND * site.slow)
        second = begin(3)
        holds("another reader has no part of a list that is read", read(2) < options.rows)
        with site.fault():
            site.kill(3)
        killed_at = time.monotonic()
        second.kill()
        site.paused.clear()
        count = eventually(lambda: read(2))
        holds("the list of a killed gateway goes to the next reader", count >= options.rows, count)
        site.new_owners(3, 10, killed_at)
        site.start(3)
        spans.append((killed_at, time.monotonic()))

    # Rows of the list come from the clients, too.
    senders = site.scene("readers", event, bad_every=10, bad=(BAD, GONE))
    read(3)
    every = [row for list_ in told for row in list_]
    counts = [len(list_) for list_ in told]
    gone = {push for sender in senders for push in sender.pushes if push.hex().startswith(GONE)}
    is_once = len(every) == len(set(every)) == options.rows + len(gone)
    holds("each row is told once to readers that end", is_once, counts, f"{len(gone)} of clients")
    # The gateway deletes the rows when it has seen the end of the reader.
    is_empty = eventually(lambda: site.postgres.query("select count(*) from ferry.feedback") == "0")
    holds("no row is left", is_empty)
    without, beside, _ = (latency(site, senders, *span) for span in spans)
    # The record is up to 0.2 s late, so no promise is judged by it.
    print(f"p99 {without:.2f} s, and {beside:.2f} s beside a reader", flush=True)


def latency(site, senders, begin, end):
    """The 99th percentile of the time from the last sending to the arrival, of what was sent in a span."""
    taken = []
    for sender in senders:
        taken += [delay for sent, delay in site.delays(sender) if begin <= sent < end]
    holds("pushes were delivered meanwhile", taken)
    return sorted(taken)[len(taken) * 99 // 100]


def served(site, options):
    """PostgreSQL is away for a while, and notifications are delivered from memory."""
    away(site, options, "serve")


def waited(site, options):
    """PostgreSQL is away for a while, and nothing is delivered."""
    away(site, options, "wait")


def away(site, options, mode):
    site.restart(away=mode)
    span = []

    def event():
        site.postgres.stop()
        begin = time.monotonic()
        time.sleep(5)
        at_first = site.arrivals.total()
        time.sleep(options.seconds - 5)
        if mode == "wait":
            delivered = site.arrivals.total() - at_first
            holds("nothing is delivered while PostgreSQL is away", delivered == 0, f"{delivered} were")
        span.extend((begin + 5, time.monotonic()))
        site.postgres.start()
        holds("each shard has an owner again", eventually(site.all_owned))
        span.append(time.monotonic())
        time.sleep(3 * site.slow)
        span.append(time.monotonic())

    senders = site.scene(f"away {mode}", event, is_away=True)
    begin, end, back, last = span
    print(f"p99 {latency(site, senders, back, last):.2f} s after PostgreSQL was back", flush=True)
    if mode == "serve":
        p99 = latency(site, senders, begin, end)
        print(f"p99 {p99:.2f} s in the last {options.seconds - 5} s without PostgreSQL", flush=True)


def refusals(site, options):
    """A pooler, a read-only server and unknown tables: the programs do not start, and say why in one sentence."""

    def refuses(sentence, connection, expected=2):
        configuration = pathlib.Path(f"{site.identity}/refused.json")
        members = json.loads(pathlib.Path(site.configuration(1)).read_text())
        members["store"]["postgres"] = connection
        members["listen"]["port"] = free_port()
        configuration.write_text(json.dumps(members))
        commands = (["gateway"], ["worker"], ["worker", "--check"], ["store", "check"])
        for command in commands:
            run = [site.ferry, *command, "--config", str(configuration)]
            try:
                ended = subprocess.run(run, capture_output=True, text=True, timeout=PATIENCE)
                status, lines = ended.returncode, ended.stderr.splitlines()
            except subprocess.TimeoutExpired:
                status, lines = "none", ["It runs."]
            name = " ".join(command)
            is_refused = status == expected and len(lines) == 1 and sentence in lines[0] and not ended.stdout
            holds(f"ferry {name} is refused", is_refused, f"status {status}:", *lines)

    with pooler(site) as port:
        refuses("pooler", f"host=127.0.0.1 port={port} user=ferry dbname=ferry sslmode=disable")
    standby = Postgres(f"{site.directory}/standby", primary=site.postgres)
    try:
        # A standby is no server that can be reached.
        refuses("read-only", standby.connection, 3)
    finally:
        standby.kill()
    version = site.postgres.query("select version from ferry.meta")
    site.postgres.query("update ferry.meta set version = 9999")
    try:
        refuses("9999", site.connection(1))
    finally:
        site.postgres.query(f"update ferry.meta set version = {version}")


@contextlib.contextmanager
def pooler(site):
    """Runs PgBouncer in transaction mode."""
    port = free_port()
    text = f"""
[databases]
ferry = host={site.postgres.directory} port={site.postgres.port} dbname=ferry user=ferry
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
"""
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
        os.chmod(file.name, 0o644)
        file.write(text)
        file.flush()
        command = [*Postgres.prefix, "/usr/sbin/pgbouncer", "-q", file.name]
        process = subprocess.Popen(command, cwd="/", stderr=subprocess.DEVNULL)
        try:
            holds("PgBouncer listens", eventually(lambda: is_open(port)))
            yield port
        finally:
            process.terminate()
            process.wait()


def failover(site, options):
    """The primary is killed, and its standby lacks the last commits. At the end, the standby is synchronous."""
    directories = [site.postgres.directory, f"{site.directory}/standby"]
    hosts = f"host={','.join(directories)} port={site.postgres.port} user=ferry dbname=ferry sslmode=disable"
    site.restart(postgres=f"{hosts} target_session_attrs=read-write")
    killed_at = []

    def fail(is_synchronous=False, killed=()):
        """Replaces the primary by a standby that has followed it until 100 ms before, and kills gateways with it."""
        primary = site.postgres
        free = next(directory for directory in directories if not os.path.exists(directory))
        standby = Postgres(free, primary=primary)
        site.servers.append(standby)
        holds("the standby follows", eventually(primary.is_followed))
        if is_synchronous:
            primary.query("alter system set synchronous_standby_names = '*'")
            primary.query("select pg_reload_conf()")
            time.sleep(1)
        primary.stop_replication()
        time.sleep(0.1)
        last = primary.query("select pg_current_wal_lsn()")
        if killed:
            with site.fault():
                site.kill(*killed)
            killed_at.append(time.monotonic())
        primary.kill()
        standby.promote()
        lacks = standby.query(f"select '{last}'::pg_lsn - pg_last_wal_replay_lsn()")
        print(f"the new primary lacks {lacks} bytes of commits", flush=True)
        site.postgres = standby
        holds("each shard has an owner", eventually(lambda: site.all_owned(*killed)))
        time.sleep(3)

    def several():
        for _ in range(options.times):
            fail()

    def was_not_durable(sender, place):
        """Whether a push was sent right before the end of the gateway, when the standby answered no commit, or before
        the program had seen the end of its connection.
        """
        return any(abs(time_ - killed_at[0]) < AROUND * site.slow for time_ in sender.sent_at[place])

    before = site.owners()
    site.scene("failover", several, bad_every=10, is_away=True)
    holds("no shard has changed its owner", site.owners() == before, before)
    site.scene("synchronous", lambda: fail(True, [1]), bad_every=10, is_spared=was_not_durable, is_away=True)
    site.start(1)


# From `middle` on, each scene starts the gateways anew, with a configuration of its own.
SCENES = [
    healthy, many, sessions_end, database_restarts, killed, busy, paused, cut_off, rolling_upgrade, reloaded, misrouted,
    moved, flooded, late, readers, refusals, examples, worker, middle, served, waited, failover,
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("--times", type=int, default=2, help="how often a scene repeats its fault")
    parser.add_argument("--seconds", type=int, default=12, help="how long PostgreSQL is away")
    parser.add_argument("--rows", type=int, default=20_000, help="the rows of the queue")
    parser.add_argument("--jobs", type=int, default=1, help="how many scenes run at a time")
    parser.add_argument("--slow", type=int, default=1, help="by how much longer everything may take, beside other work")
    parser.add_argument("names", nargs="*", metavar="scene", help=", ".join(scene.__name__ for scene in SCENES))
    options = parser.parse_intermixed_args()
    chosen = [scene for scene in SCENES if not options.names or scene.__name__ in options.names]
    if unknown := set(options.names) - {scene.__name__ for scene in SCENES}:
        parser.error(f"unknown scenes: {', '.join(unknown)}")
    # Servers and rules of the packet filter go whatever ends this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("SIGTERM came."))
    if options.jobs > 1:
        sys.exit(divide(options, chosen))
    play(options, chosen)


def divide(options, scenes):
    """Lets several processes play a part of the scenes each, and prints what each has said. Returns the exit status."""
    command = [sys.executable, __file__, options.ferry]
    for name in ("times", "seconds", "rows", "slow"):
        command += [f"--{name}", str(getattr(options, name))]
    with contextlib.ExitStack() as stack:
        processes = []
        for number in range(options.jobs):
            names = [scene.__name__ for scene in scenes[number :: options.jobs]]
            output = stack.enter_context(tempfile.TemporaryFile("w+"))
            process = subprocess.Popen([*command, *names], stdout=output, stderr=subprocess.STDOUT)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            processes.append((process, output))
        for process, _ in processes:
            process.wait()
        # A broken promise comes last, so that it is found.
        for process, output in sorted(processes, key=lambda one: one[0].returncode != 0):
            output.seek(0)
            print(output.read(), flush=True)
        return max(abs(process.returncode) for process, _ in processes)


def play(options, scenes):
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o711)
        with contextlib.closing(Site(os.path.abspath(options.ferry), directory, options.slow)) as site:
            try:
                site.build()
                with haproxy("shards.cfg", site.changes(), site.port):
                    for scene in scenes:
                        begin = time.monotonic()
                        print(f"-- {scene.__name__}", flush=True)
                        site.spread()
                        scene(site, options)
                        print(f"{scene.__name__}: {time.monotonic() - begin:.0f} s", flush=True)
            except BaseException:
                print(site.said(), flush=True)
                raise


main()
