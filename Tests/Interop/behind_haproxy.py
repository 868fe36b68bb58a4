"""Old clients reach ferry gateway through HAProxy, with the configurations of Compat/haproxy.

Usage: behind_haproxy.py FERRY

First servers of this file stand behind HAProxy: they show how ends pass through it, and what it does when a machine
dies or hangs. Then a real gateway does, with a simulated APNs behind it. Each client has a source address of its own.
Prints each promise, and fails at the first one that does not hold. Needs the right to change the packet filter.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from stage import (
    CONFIGURATIONS, HAPROXY, INVALID_TOKEN, PATIENCE, TOPIC, Client, Program, connect, eventually, free_port, haproxy,
    holds, read_all, reset, tokens,
)

SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")
# The floor of the round trip, in seconds, and the silence that the gateway wants beside two round trips.
ROUND_TRIP = 0.3
CALM = 0.25 + 2 * ROUND_TRIP


# The ends of a connection


class Server:
    """A server behind HAProxy. It reads the header of each connection, and closes those that are health checks."""

    def __init__(self, address=("127.0.0.1", 0)):
        self.listener = socket.create_server(address)
        self.port = self.listener.getsockname()[1]
        # By the client's address.
        self.clients = collections.defaultdict(list)
        self.hangs = False
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while not self.hangs:
            connection, _ = self.listener.accept()
            with contextlib.suppress(OSError):
                connection.settimeout(PATIENCE)
                header = connection.recv(28, socket.MSG_WAITALL)
                if header[:14] == SIGNATURE + b"\x21\x11":
                    self.clients[socket.inet_ntoa(header[16:20])].append(connection)
                    continue
            connection.close()

    def hang(self):
        """Accepts no more. The kernel still does."""
        self.hangs = True
        # The accept that is under way takes one more.
        socket.create_connection(self.listener.getsockname()).close()

    def client(self, source):
        holds(f"the header names the client {source}", eventually(lambda: self.clients[source]))
        return self.clients[source].pop()


def ends_pass_through():
    server, port = Server(), free_port()
    with haproxy("gateway.cfg", {"10.0.0.1:2195": f"127.0.0.1:{server.port}"}, port):
        # A first connection may come before the first health check.
        client = connect(port, "127.0.2.1")
        client.sendall(b"x")
        accepted = server.client("127.0.2.1")
        accepted.sendall(b"123456")
        accepted.shutdown(socket.SHUT_WR)
        holds("a half-close reaches the client", read_all(client) == (b"123456", False))
        drained = os.urandom(4 << 20)
        client.sendall(drained)
        client.close()
        holds("the drain comes through to the end", read_all(accepted) == (b"x" + drained, False))

        client = connect(port, "127.0.2.2")
        client.sendall(b"x")
        accepted = server.client("127.0.2.2")
        accepted.recv(1)
        reset(client)
        holds("a reset of the client arrives as a reset", read_all(accepted) == (b"", True))

        client = connect(port, "127.0.2.3")
        client.sendall(b"x")
        accepted = server.client("127.0.2.3")
        accepted.recv(1)
        reset(accepted)
        # HAProxy 2.6 makes an end of it. The next write of the client then fails.
        holds("a reset of the server ends the client's connection", read_all(client)[0] == b"")

        client = connect(port, "127.0.2.4")
        client.sendall(drained[: 1 << 18])
        client.close()
        accepted = server.client("127.0.2.4")
        # The client has gone before anything is read.
        time.sleep(0.5)
        holds("write-and-close delivers every byte", read_all(accepted) == (drained[: 1 << 18], False))


def shards():
    """Two machines have the shards. Each client comes to one shard, also through another balancer."""
    machines, count = ("127.0.3.1", "127.0.3.2"), 8
    servers = [Server((machines[shard % 2], 0)) for shard in range(count)]
    changes = {
        f"10.0.0.{number}:{22000 + shard}": f"{machine}:{server.port}"
        for shard, server in enumerate(servers)
        for number, machine in enumerate(machines, 1)
    }
    ports = [free_port(), free_port()]
    with contextlib.ExitStack() as stack:
        for port in ports:
            stack.enter_context(haproxy("shards.cfg", changes, port))
        sources = [f"127.0.4.{number}" for number in range(1, 65)]
        for source in sources:
            for port in ports * 2:
                with connect(port, source) as client:
                    client.sendall(b"x")
        arrived = lambda: [[len(server.clients.get(source, [])) for server in servers] for source in sources]
        eventually(lambda: sum(map(sum, arrived())) == 4 * len(sources))
        table = arrived()
        holds("each client comes to one shard, through each balancer", all(max(row) == sum(row) == 4 for row in table))
        used = sum(any(column) for column in zip(*table))
        holds("clients are spread over all shards", used == count)


# Machines that die and hang


def server_lines_end_connections():
    """HAProxy 2.6 ignores tcp-ut in default-server without a word."""
    for file in sorted(CONFIGURATIONS.glob("*.cfg")):
        servers = [line for line in file.read_text().splitlines() if re.match(r"\s+server (?!hold )", line)]
        holds(f"each server of {file.name} has tcp-ut", servers and all("tcp-ut 20s" in line for line in servers))


class Idler:
    """A client that counts what HAProxy takes, and sees when its connection ends. It writes steadily, or nothing."""

    def __init__(self, port, source, bytes_per_second):
        self.socket = connect(port, source)
        self.socket.sendall(b"x")
        self.bytes_per_second = bytes_per_second
        self.written, self.ended = 0, None
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        part = b"y" * (self.bytes_per_second // 10)
        with contextlib.suppress(OSError):
            while not select.select([self.socket], [], [], 0.1)[0] or self.socket.recv(1 << 16):
                if part:
                    self.written += self.socket.send(part)
        self.ended = time.monotonic()


@contextlib.contextmanager
def vanished(server):
    """The kernel drops each packet to a server and from it, as if its machine had no power."""
    address, port = server.listener.getsockname()
    rules = [["-d", address, "--dport", str(port)], ["-s", address, "--sport", str(port)]]
    root = [] if os.geteuid() == 0 else ["sudo"]
    change = lambda option, rule: subprocess.run(
        [*root, "iptables", "-w", option, "INPUT", "-p", "tcp", *rule, "-j", "DROP"], check=True
    )
    with contextlib.ExitStack() as stack:
        for rule in rules:
            change("-A", rule)
            stack.callback(change, "-D", rule)
        yield


def owners(first, second, *others):
    """Changes of shards.cfg that give all shards to two machines or more."""
    changes = {}
    for shard in range(8):
        changes[f"10.0.0.1:{22000 + shard} "] = f"{first} "
        further = [f"  server gw{number} {address} \\1\n" for number, address in enumerate([second, *others], 2)]
        changes[f"  server gw2 10.0.0.2:{22000 + shard} (.*)\n"] = "".join(further)
    return changes


def a_machine_dies():
    """No end comes from a machine that dies. HAProxy ends its connections, and leaves those of a living one."""
    dead, living, next_port = Server(("127.0.3.8", 0)), Server(("127.0.3.9", 0)), free_port()
    ports = [free_port() for _ in range(3)]
    with contextlib.ExitStack() as stack:
        address = f"127.0.3.8:{dead.port}"
        stack.enter_context(haproxy("gateway.cfg", {"10.0.0.1:2195": address}, ports[0]))
        stack.enter_context(haproxy("shards.cfg", owners(address, f"127.0.3.10:{next_port}"), ports[1]))
        stack.enter_context(haproxy("gateway.cfg", {"10.0.0.1:2195": f"127.0.3.9:{living.port}"}, ports[2]))
        rates = {"127.0.2.1": 0, "127.0.2.2": 25_000}
        doomed = [Idler(port, source, rate) for port in ports[:2] for source, rate in rates.items()]
        spared = Idler(ports[2], "127.0.2.1", 0)
        full = connect(ports[2], "127.0.2.3")
        full.sendall(b"x")
        for source in rates:
            holds(f"two clients of {source} have come", eventually(lambda: len(dead.clients[source]) == 2))
        accepted = living.client("127.0.2.3")
        # A gateway does not read a client with a full window, for 8 s at most.
        full.setblocking(False)
        begin, written = time.monotonic(), 1
        stack.enter_context(vanished(dead))
        while time.monotonic() < begin + 10:
            with contextlib.suppress(BlockingIOError):
                written += full.send(bytes(1 << 16))
            time.sleep(0.005)
        full.close()
        holds("HAProxy waits for a server that does not read for 10 s", len(read_all(accepted)[0]) == written, written)
        holds("the connections to a dead machine end", eventually(lambda: all(idler.ended for idler in doomed)))
        for idler in doomed:
            kind = f"busy one, which has written {idler.written} bytes" if idler.bytes_per_second else "silent one"
            seconds = idler.ended - begin
            holds(f"that of a {kind}, after 18 to 25 s", 18 < seconds < 25, f"{seconds:.1f} s")
        successor = Server(("127.0.3.10", next_port))
        for source in rates:
            with connect(ports[1], source) as client:
                client.sendall(b"x")
                successor.client(source)
        time.sleep(max(0, begin + 30 - time.monotonic()))
        holds("a silent client of a living machine keeps its connection", not spared.ended)


def a_balancer_starts():
    """HAProxy takes each machine for an owner until its first health check. No connection ends because of that."""
    machines = ["127.0.3.8", "127.0.3.9", "127.0.3.10"]
    for listening, machine in enumerate(machines, 1):
        owner, port = Server((machine, 0)), free_port()
        with haproxy("shards.cfg", owners(*(f"{machine}:{owner.port}" for machine in machines)), port):
            clients, begin = [], time.monotonic()
            # The health checks are spread over the first 0.5 s.
            while time.monotonic() < begin + 0.6:
                clients.append(connect(port, "127.0.2.1"))
                time.sleep(0.01)
            is_served = eventually(lambda: len(owner.clients["127.0.2.1"]) == len(clients))
            served = len(owner.clients["127.0.2.1"])
            holds(f"machine {listening} serves all", is_served, f"{served} of {len(clients)}")
            for client in clients:
                client.close()


def a_machine_hangs():
    """A gateway that hangs does not accept, but its kernel does, so it passes the health check."""
    hanging, next_port, port = Server(("127.0.3.8", 0)), free_port(), free_port()
    with haproxy("shards.cfg", owners(f"127.0.3.8:{hanging.port}", f"127.0.3.9:{next_port}"), port):
        old = [connect(port, "127.0.2.1") for _ in range(4)]
        holds("the owner has four clients", eventually(lambda: len(hanging.clients["127.0.2.1"]) == 4))
        hanging.hang()
        successor = Server(("127.0.3.9", next_port))
        # The next health check finds it.
        time.sleep(1.5)
        new = [connect(port, "127.0.2.1") for _ in range(3)]
        is_served = eventually(lambda: len(successor.clients["127.0.2.1"]) == 3)
        holds("new connections go to the next owner", is_served, len(successor.clients["127.0.2.1"]))
        for client in old + new:
            client.close()


# The gateway


class Site:
    """A gateway behind HAProxy, and what APNs has accepted."""

    def __init__(self, ferry, directory, bad):
        self.ferry, self.directory = ferry, directory
        self.identity, self.record = f"{directory}/identity", f"{directory}/accepted"
        new = [ferry, "identity", "new", "--topic", TOPIC, "--dir", self.identity]
        subprocess.run(new, check=True, stdout=subprocess.DEVNULL)
        stranger = [ferry, "identity", "new", "--topic", TOPIC, "--dir", f"{directory}/stranger"]
        subprocess.run(stranger, check=True, stdout=subprocess.DEVNULL)
        rule = {"tokens": [token.hex() for token in bad], "status": 400, "reason": "BadDeviceToken"}
        pathlib.Path(directory, "script.json").write_text(json.dumps({"http2": {"rules": [rule]}}))
        self.apns = Program(
            ferry, "simulate", "--http2", "0", "--tls-dir", f"{directory}/tls",
            "--script", f"{directory}/script.json", "--record", self.record,
        )
        self.port, self.gateway_port = free_port(), free_port()
        configuration = {
            "listen": {
                "port": self.gateway_port, "cert": "server.pem", "key": "server-key.pem",
                "proxies": ["127.0.0.1", "::1"], "proxyRoundTrip": ROUND_TRIP,
            },
            "upstreams": {
                "apns": {
                    "to": f"localhost:{self.apns.ports['http2']}", "ca": f"{directory}/tls/ca.pem",
                    "p8": f"{directory}/tls/token-key.p8", "keyID": "FERRYKEY01", "teamID": "FERRYTEAM1",
                }
            },
            "clients": [{"name": "shop", "cert": "client.pem", "topics": [TOPIC]}],
            "rejections": f"{directory}/rejected",
            "store": {"path": f"{directory}/gateway.db"},
        }
        pathlib.Path(self.identity, "gateway.json").write_text(json.dumps(configuration))
        self.start()

    def start(self):
        self.gateway = Program(self.ferry, "gateway", "--config", f"{self.identity}/gateway.json")

    def client(self, source, certificate=None):
        return Client(self.port, source, self.identity, certificate or f"{self.identity}/client")

    def accepted(self):
        with contextlib.suppress(FileNotFoundError):
            with open(self.record) as record:
                return collections.Counter(json.loads(line)["token"] for line in record if line.endswith("\n"))
        return collections.Counter()

    def has(self, expected):
        """Whether APNs has accepted each of the tokens as often as `expected` says."""
        accepted = self.accepted()
        return all(accepted[token.hex()] == count for token, count in expected.items())


def a_gateway(ferry, directory):
    bad = tokens("bad", 3)
    site = Site(ferry, directory, bad)
    good = tokens("warm", 1)
    with haproxy("gateway.cfg", {"10.0.0.1:2195": f"127.0.0.1:{site.gateway_port}"}, site.port):
        # An acceptance opens the gate for error responses.
        first = site.client("127.0.2.1")
        first.send(good)
        holds("a client delivers through HAProxy", eventually(lambda: site.has({good[0]: 1})))
        first.close()

        written = tokens("written", 2000)
        writer = site.client("127.0.2.2")
        writer.send(written)
        writer.close()
        holds("a client that writes and closes loses nothing", eventually(lambda: site.has(dict.fromkeys(written, 1))))

        resent(site, bad[0])
        apart(site, bad[1])

        with contextlib.suppress(OSError):
            stranger = site.client("127.0.2.9", f"{directory}/stranger/client")
            stranger.socket.recv(1)
        refusal = "No client of the configuration has this certificate"
        said = lambda: [line for line in site.gateway.said().splitlines() if refusal in line]
        eventually(said)
        holds("a refused client is named by its own address", all("127.0.2.9" in line for line in said()) and said())

        is_quiet(site, 2)
        waits_for_the_next(site)
    changes = {"10.0.0.1:2195": f"127.0.0.1:{site.gateway_port}", "send-proxy-v2": "send-proxy"}
    with haproxy("gateway.cfg", changes, site.port):
        one = tokens("version 1", 1)
        client = site.client("127.0.2.7")
        client.send(one)
        holds("a client delivers with a header of version 1", eventually(lambda: site.has({one[0]: 1})))
        client.close()
        is_quiet(site, 1)
    site.gateway.end()
    site.apns.end()
    with open(f"{directory}/rejected") as file:
        rejected = collections.Counter(json.loads(line).get("token") for line in file)
    told = all(rejected[token.hex()] == 1 for token in bad[:2])
    holds("each rejection stands once in the list", told and sum(rejected.values()) == 2)


def is_quiet(site, version):
    # Health checks come twice a second.
    time.sleep(3)
    named = [line for line in site.gateway.said().splitlines() if "127.0.0.1 " in line]
    holds(f"a health check with a header of version {version} leaves no line", not named, *named)


def resent(site, bad):
    """A client hears of a bad token, and sends again what followed, on a new connection."""
    before, behind = tokens("before", 20), tokens("behind", 30)
    client = site.client("127.0.2.3")
    begin = time.monotonic()
    client.send([*before, bad, *behind])
    response = client.response()
    waited = time.monotonic() - begin
    holds("an error response and the end behind it reach the client", response == INVALID_TOKEN + struct.pack(">I", 20))
    holds(f"it comes {CALM:.2f} s behind the last byte, not sooner", waited >= CALM, f"{waited:.2f} s")
    drained = tokens("drained", 10)
    client.send(drained, first=51)
    client.close()
    again = site.client("127.0.2.3")
    again.send(behind, first=21)
    last = tokens("last", 1)
    again.send(last, first=61)
    holds("what it still writes behind the response arrives", eventually(lambda: site.has(dict.fromkeys(drained, 1))))
    is_once = eventually(lambda: site.has({**dict.fromkeys([*before, *behind, *last], 1), bad: 0}))
    holds("what it sends again from its address arrives once", is_once)
    again.close()


def apart(site, bad):
    """The same pushes from another address are no copies."""
    behind = tokens("apart", 30)
    client = site.client("127.0.2.4")
    client.send([bad, *behind])
    holds("another client hears of its bad token", client.response()[:2] == INVALID_TOKEN)
    client.close()
    other = site.client("127.0.2.5")
    other.send(behind)
    holds("the same pushes from another address are delivered, too", eventually(lambda: site.has(dict.fromkeys(behind, 2))))
    other.close()


def waits_for_the_next(site):
    """A client that connects while there is no gateway is served by the next one."""
    site.gateway.end()
    late = tokens("late", 5)
    served = []

    def send():
        client = site.client("127.0.2.6")
        client.send(late)
        served.append(time.monotonic())
        client.close()

    thread = threading.Thread(target=send, daemon=True)
    begin = time.monotonic()
    thread.start()
    time.sleep(4)
    holds("a new connection waits while there is no gateway", thread.is_alive() and not served)
    site.start()
    thread.join(PATIENCE)
    is_served = bool(served) and eventually(lambda: site.has(dict.fromkeys(late, 1)))
    holds("the next gateway serves it", is_served, f"after {served[0] - begin:.1f} s" if served else "")


def main(ferry):
    version = subprocess.run([HAPROXY, "-v"], check=True, capture_output=True, text=True).stdout
    print(version.splitlines()[0])
    for file in sorted(CONFIGURATIONS.glob("*.cfg")):
        subprocess.run([HAPROXY, "-c", "-q", "-f", file], check=True)
    server_lines_end_connections()
    ends_pass_through()
    shards()
    a_balancer_starts()
    a_machine_dies()
    a_machine_hangs()
    with tempfile.TemporaryDirectory() as directory:
        a_gateway(ferry, directory)


main(os.path.abspath(sys.argv[1]))
