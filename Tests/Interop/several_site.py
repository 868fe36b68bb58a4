"""Three gateways with eight shards on one PostgreSQL, behind HAProxy."""

import collections
import concurrent.futures
import contextlib
import json
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

from postgres_server import Postgres
from several_clients import BAD, GONE, MODELS, Arrivals, Sender, Unnumbered
from stage import PATIENCE, TOPIC, Client, Program, eventually, free_port, holds, read_all

SHARDS = 8
MACHINES = ("127.0.3.1", "127.0.3.2", "127.0.3.3")
# Each gateway reaches PostgreSQL at an address of its own, so that one way can be cut.
DATABASES = ("127.0.5.1", "127.0.5.2", "127.0.5.3")
# HAProxy reaches the gateways from this address.
PROXY = "127.0.0.1"
SOURCES = [f"127.0.4.{number}" for number in range(1, 17)]
# A gateway knows the habits of an address, so each model of an old program has its own.
PROGRAMS = [(source, Sender) for source in SOURCES]
MIXTURE = [(f"127.0.7.{number}", model) for number, model in enumerate(MODELS, 1)]
NUMBERS = range(1, len(MACHINES) + 1)
# Around a fault, notifications were in flight. The record of the simulated APNs is 0.2 s late.
AROUND = 0.5


class Site:
    """The gateways, what they stand on, and what APNs has accepted."""

    def __init__(self, ferry, directory, slow):
        """:param slow: the factor by which everything may take longer."""
        self.slow = slow
        self.ferry, self.directory, self.identity = ferry, directory, f"{directory}/identity"
        # The identity of a second client, whose programs come from the sources in `strangers`.
        self.other, self.strangers = f"{directory}/other", set()
        self.port, self.feedback, self.first = free_port(), free_port(), free_ports(SHARDS)
        # A program sends until the site is calm, and not while it is paused.
        self.paused, self.calm, self.refused = threading.Event(), threading.Event(), []
        self.faults, self.gateways, self.programs, self.servers = [], {}, [], []

    def build(self):
        self.postgres = Postgres(f"{self.directory}/postgres", DATABASES)
        self.servers.append(self.postgres)
        for directory in (self.identity, self.other):
            new = [self.ferry, "identity", "new", "--topic", TOPIC, "--dir", directory]
            subprocess.run(new, check=True, stdout=subprocess.DEVNULL)
        rules = [{"prefix": BAD, "status": 400, "reason": "BadDeviceToken"}, {"prefix": GONE, "status": 410}]
        self.apns, self.arrivals = self.simulate("gateways", {"rules": rules})
        self.configure(1)
        self.store("init", "--shards", str(SHARDS))
        self.restart()

    def close(self):
        for gateway in self.gateways.values():
            gateway.process.kill()
        for server in self.servers:
            if server.is_running():
                server.stop()

    def simulate(self, name, http2):
        """Starts a simulated APNs. Returns it, and what it accepts."""
        script, record = f"{self.directory}/{name}.json", f"{self.directory}/{name}.accepted"
        pathlib.Path(script).write_text(json.dumps({"http2": http2}))
        apns = Program(
            self.ferry, "simulate", "--http2", "0", "--tls-dir", f"{self.directory}/tls",
            "--script", script, "--record", record,
        )
        return apns, Arrivals(record)

    def upstream(self, apns):
        return {
            "to": f"localhost:{apns.ports['http2']}", "ca": f"{self.directory}/tls/ca.pem",
            "p8": f"{self.directory}/tls/token-key.p8", "keyID": "FERRYKEY01", "teamID": "FERRYTEAM1",
        }

    def configuration(self, number):
        return f"{self.identity}/gateway{number}.json"

    def connection(self, number):
        return f"host={DATABASES[number - 1]} port={self.postgres.port} user=ferry dbname=ferry sslmode=disable"

    def configure(self, number, ping=30, **store):
        """Writes a configuration.

        :param ping: the member `pingInterval` of the upstream, in seconds.
        :param store: members of `store` in place of the usual ones.
        """
        configuration = {
            "listen": {
                "host": MACHINES[number - 1], "port": self.first, "feedbackPort": self.feedback, "cert": "server.pem",
                "key": "server-key.pem", "proxies": [PROXY], "proxyRoundTrip": 0.01,
            },
            "upstreams": {"apns": {**self.upstream(self.apns), "pingInterval": ping}},
            "clients": [
                {"name": "shop", "cert": "client.pem", "topics": [TOPIC]},
                {"name": "other", "cert": f"{self.other}/client.pem", "topics": [TOPIC]},
            ],
            "store": {"postgres": self.connection(number), "node": f"gw{number}", **store},
            "admin": {"socket": f"admin{number}"},
        }
        pathlib.Path(self.configuration(number)).write_text(json.dumps(configuration))

    def start(self, number):
        self.gateways[number] = Program(self.ferry, "gateway", "--config", self.configuration(number))
        self.programs.append((f"gw{number}", self.gateways[number]))

    def said(self):
        """The last messages of each gateway."""
        return "\n".join(f"-- {name}\n{program.said()[-1000:]}" for name, program in self.programs)

    def waits(self):
        """How often a gateway has said that it takes no clients, because PostgreSQL does not answer."""
        said = "".join(program.said() for _, program in self.programs)
        sentences = ("no new client is taken", "It accepts no clients", "was refused: The store cannot be written")
        return sum(said.count(sentence) for sentence in sentences)

    def kill(self, *numbers):
        for number in numbers:
            self.gateways[number].process.kill()
        for number in numbers:
            self.gateways[number].process.wait()

    def restart(self, **store):
        """Starts all gateways with members of `store` in place of the usual ones, and spreads the shards."""
        self.end()
        for number in NUMBERS:
            self.configure(number, **store)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(self.start, NUMBERS))
        holds("all shards are owned", eventually(self.all_owned))
        self.spread()

    def end(self, numbers=NUMBERS):
        """Ends gateways, all at once."""
        running = [self.gateways.pop(number) for number in numbers if number in self.gateways]
        for gateway in running:
            gateway.process.terminate()
        for gateway in running:
            gateway.end()

    def spread(self):
        """Moves each shard to the gateway that is next in turn."""
        wanted = {shard: f"gw{shard % len(MACHINES) + 1}" for shard in range(SHARDS)}
        end = time.monotonic() + PATIENCE
        # A slow gateway may miss the shard that it shall have. Another takes it, and is asked anew.
        while (owners := self.owners()) != wanted and time.monotonic() < end:
            for shard, node in wanted.items():
                if owners.get(shard) != node:
                    # A move is refused if the gateway has taken the shard meanwhile.
                    with contextlib.suppress(subprocess.CalledProcessError):
                        self.store("move", str(shard), node)
            time.sleep(2)
        holds("the shards are spread over the gateways", self.owners() == wanted, self.owners())

    def changes(self):
        """The addresses of shards.cfg here, with a third machine."""
        changes = {}
        for shard in range(SHARDS):
            port = self.first + shard
            changes[f"10.0.0.1:{22000 + shard} "] = f"{MACHINES[0]}:{port} "
            changes[f"  server gw2 10.0.0.2:{22000 + shard} (.*)\n"] = (
                f"  server gw2 {MACHINES[1]}:{port} \\1\n  server gw3 {MACHINES[2]}:{port} \\1\n"
            )
        return changes

    def client(self, source, port):
        certificate = self.other if source in self.strangers else self.identity
        return Client(port, source, self.identity, f"{certificate}/client")

    def store(self, *arguments):
        command = [self.ferry, "store", *arguments, "--config", self.configuration(1)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout

    def owners(self):
        lines = self.postgres.query(
            "select id, owner from ferry.shard where exists (select from pg_locks l where l.locktype = 'advisory' "
            "and l.classid = 1179800153 and l.objid = id::int and l.objsubid = 2 and l.granted)"
        )
        return {int(shard): owner for shard, owner in (line.split("|") for line in lines.splitlines())}

    def sources_of(self, shards, number):
        """Some addresses for each of some shards."""

        def seen():
            """The addresses of each shard. The gateways note them when a connection comes."""
            rows = self.postgres.query("select shard, address from ferry.seen where address like '127.0.8.%'")
            sources = collections.defaultdict(list)
            for shard, source in (row.split("|") for row in rows.splitlines()):
                sources[int(shard)].append(source)
            return sources

        def are_known():
            sources = seen()
            return all(len(sources[shard]) >= number for shard in shards)

        for last in range(1, 255):
            self.client(f"127.0.8.{last}", self.port).close()
            if last % 16 == 0 and are_known():
                return [seen()[shard][:number] for shard in shards]
        sys.exit("The balancer does not use all shards.")

    def shards(self, number):
        return [shard for shard, owner in self.owners().items() if owner == f"gw{number}"]

    def all_owned(self, *without):
        """Whether each shard has an owner, which is none of some gateways."""
        with contextlib.suppress(subprocess.CalledProcessError):
            owners = self.owners().values()
            return len(owners) == SHARDS and not any(f"gw{number}" in owners for number in without)
        return False

    def new_owners(self, number, seconds, begin=None):
        """Waits until others own the shards of a gateway, `seconds` from `begin` on at most."""
        seconds *= self.slow
        begin = begin or time.monotonic()
        is_taken = eventually(lambda: self.all_owned(number))
        passed = time.monotonic() - begin
        is_soon = is_taken and passed <= seconds
        holds(f"others own the shards of gw{number} within {seconds} s", is_soon, f"{passed:.1f} s")

    def metric(self, number, name):
        """The sum of a gateway's figures with this name."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"{self.identity}/admin{number}")
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            text, _ = read_all(connection)
        return sum(float(line.split()[-1]) for line in text.decode().splitlines() if line.startswith(name))

    def misrouted(self):
        """The sources that gateways have named because they came to two shards, with the shards."""
        words = re.compile(r"ferry: shop comes from (\S+) to the shards (\d+) and (\d+)\. ")
        said = "".join(program.said() for _, program in self.programs)
        return collections.Counter((source, int(one), int(other)) for source, one, other in words.findall(said))

    def rejections(self):
        return collections.Counter(self.postgres.query("select line ->> 'token' from ferry.rejection").splitlines())

    @contextlib.contextmanager
    def fault(self, seconds=0.0):
        """Notes that something happens in the body and `seconds` later. What is in flight meanwhile may be doubled."""
        begin = time.monotonic()
        yield
        self.faults.append((begin - AROUND, time.monotonic() + seconds + AROUND))

    def is_in_fault(self, time_):
        return any(begin <= time_ <= end for begin, end in self.faults)

    def was_in_flight(self, push):
        return any(self.is_in_fault(time_) for time_ in self.arrivals.times[push])

    def delivers_after(self, sender, time_, seconds):
        """Whether a push that was sent after a time has arrived within `seconds`."""
        pushes = [push.hex() for push, sent in zip(sender.pushes, sender.sent_at) if sent and sent[0] > time_]
        return any(time_ < arrived < time_ + seconds for push in pushes for arrived in self.arrivals.times.get(push, []))

    def delays(self, sender):
        """The time of the last sending of each push that has arrived, and the seconds from there to the arrival."""
        for push, sendings in zip(sender.pushes, sender.sent_at):
            arrived = self.arrivals.times.get(push.hex())
            sent = [time_ for time_ in sendings if arrived and time_ <= arrived[0]]
            if sent:
                yield sent[-1], arrived[0] - sent[-1]

    def scene(
        self, name, event, rate=20, least=200, bad_every=50, twice_every=0, bad=(BAD,), programs=PROGRAMS,
        is_spared=lambda sender, place: False, is_away=False, ports=(),
    ):
        """Lets all clients send, and `event` happen meanwhile. Returns the clients.

        Notifications are doubled only if they were in flight in a `fault`.

        :param programs: the address and the model of each client.
        :param is_spared: whether a notification may be lost, because it was not durable.
        :param is_away: whether a gateway misses PostgreSQL meanwhile. It ends handshakes until it closes its listener.
        :param ports: the ports of the balancer that a client takes in turn, if they lead to two shards. What it sends
            again may then be doubled.
        """
        waits_before = self.waits()
        self.refused.clear()
        self.calm.clear()
        self.faults.clear()
        senders = [
            model(self, f"{name} {number}", source, rate, least, bad_every, twice_every, bad, ports or [self.port])
            for number, (source, model) in enumerate(programs)
        ]
        time.sleep(1)
        event()
        time.sleep(1)
        self.calm.set()
        for sender in senders:
            sender.thread.join(300)
        holds("all clients come to their end", all(sender.is_finished for sender in senders))
        self.check(senders, is_spared, bool(ports))
        # A handshake with a gateway that is killed fails. A gateway takes no client while PostgreSQL does not answer.
        refused = [words for time_, words in self.refused if not self.is_in_fault(time_)]
        if is_away or self.waits() > waits_before:
            print(f"{len(refused)} handshakes of clients failed", *refused[:3], flush=True)
        else:
            holds("no client is refused", not refused, *refused[:3])
        if not ports:
            named = [name for name in self.misrouted() if name[0] in dict(programs)]
            holds("no client is named for two shards", not named, *named)
        holds("each shard has an owner", eventually(self.all_owned), self.owners())
        return senders

    def check(self, senders, is_spared, is_misrouted):
        good, bad, spared, again = collections.Counter(), set(), set(), set()
        for sender in senders:
            again |= {push.hex() for push in sender.unproven | sender.repeated}
            for place, push in enumerate(sender.pushes):
                push = push.hex()
                if push.startswith((BAD, GONE)):
                    bad.add(push)
                else:
                    good[push] += 1
                if place in sender.given_up or is_spared(sender, place):
                    spared.add(push)
                if is_misrouted and len(sender.sent_at[place]) > 1:
                    again.add(push)

        def missing():
            return [push for push, count in good.items() if self.arrivals.count(push) < count and push not in spared]

        def unwritten():
            return len(bad - spared - self.rejections().keys())

        def may_be_doubled(push):
            return push in again or self.was_in_flight(push)

        eventually(lambda: not missing())
        lost = missing()
        # A copy too many would come now.
        time.sleep(0.5)
        twice = [push for push, count in good.items() if self.arrivals.count(push) > count]
        beyond = [push for push in twice if not may_be_doubled(push)]
        self.explain(senders, [*lost, *beyond])
        told = sum((sender.told for sender in senders), collections.Counter())
        longest = max(sender.longest for sender in senders)
        facts = (
            f"{good.total()} good, {len(lost)} lost, {len(twice)} doubled, {len(bad)} refused by APNs, "
            f"told {dict(told)}, longest handshake {longest:.1f} s"
        )
        holds("nothing is lost", not lost, facts, *lost[:3])
        holds("only what was in flight is doubled", not beyond, f"{len(beyond)} beyond it", *beyond[:3])
        # The rejections of a long time without PostgreSQL are written one after the other.
        while left := unwritten():
            if not eventually(lambda: unwritten() < left):
                break
        rejected = self.rejections()
        unlisted = [push for push in bad if push not in rejected and push not in spared]
        relisted = [push for push in bad if rejected[push] > 1 and not may_be_doubled(push)]
        self.explain(senders, [*unlisted, *relisted])
        holds("each rejection stands once in the table", not unlisted and not relisted, unlisted[:3], relisted[:3])
        for model in dict.fromkeys(map(type, senders)):
            self.check_told(model, [sender for sender in senders if type(sender) is model])

    def check_told(self, model, senders):
        told = sum((sender.told for sender in senders), collections.Counter())
        blamed = [(sender.pushes[place].hex(), count) for sender in senders for place, count in sender.blamed.items()]
        is_right = all(push.startswith((BAD, GONE)) and count == 1 for push, count in blamed)
        holds(f"{model.__name__} is told of refused pushes alone, and of none twice", is_right, dict(told))
        if model is Unnumbered:
            holds("it hears no error response, because all its identifiers are 0", not told, dict(told))

    def explain(self, senders, pushes):
        """Prints what became of some pushes, in seconds since the first fault."""
        start = self.faults[0][0] if self.faults else 0
        for begin, end in self.faults if pushes else []:
            print(f"fault from {begin - start:.2f} to {end - start:.2f}")
        for sender in senders:
            places = [place for place, push in enumerate(sender.pushes) if push.hex() in pushes]
            for place in places[:3]:
                arrived = self.arrivals.times.get(sender.pushes[place].hex(), [])
                sent, arrived = (
                    ", ".join(f"{time_ - start:.2f}" for time_ in times) for times in (sender.sent_at[place], arrived)
                )
                print(f"{sender.source}: {place} was sent at {sent} and arrived at {arrived}")
            if places:
                sender.print_story(start)


def free_ports(count):
    """The first of some ports in a row that nobody uses."""
    for _ in range(100):
        first = free_port()
        if first + count > 60_000:
            continue
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for machine in MACHINES:
                for port in range(first, first + count):
                    stack.enter_context(socket.create_server((machine, port)))
            return first
    sys.exit("No ports in a row are free.")
