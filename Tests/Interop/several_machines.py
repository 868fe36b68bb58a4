"""Three gateways with eight shards on one PostgreSQL, behind HAProxy, in trouble.

Usage: several_machines.py FERRY [--times N] [NAME...]

FERRY is a build with the trait PostgreSQL. Each client has a source address of its own, and connects again through
HAProxy. In each scene, something happens to a gateway or to PostgreSQL while the clients send. Prints each promise, and
fails at the first one that does not hold.
"""

import argparse
import collections
import contextlib
import glob
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

from stage import PATIENCE, TOPIC, Client, Program, eventually, free_port, haproxy, holds, read_all, tokens

SHARDS = 8
MACHINES = ("127.0.3.1", "127.0.3.2", "127.0.3.3")
CLIENTS = 16


class Postgres:
    """A server of Debian's packages, which refuses to run as root."""

    def __init__(self, directory):
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.directory = directory
        self.prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        os.mkdir(directory, 0o700)
        if self.prefix:
            shutil.chown(directory, "postgres", "postgres")
        self.run("initdb", "-D", f"{directory}/data", "-U", "ferry", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        self.start()
        self.query("create database ferry", "postgres")
        self.connection = f"host={directory} user=ferry dbname=ferry sslmode=disable"

    def run(self, program, *arguments):
        command = [*self.prefix, f"{self.programs}/{program}", *arguments]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=True, cwd="/", timeout=PATIENCE, **quiet)

    def start(self):
        options = f"-k {self.directory} -c listen_addresses='' -c max_connections=100"
        self.run("pg_ctl", "-D", f"{self.directory}/data", "-w", "-l", f"{self.directory}/log", "-o", options, "start")

    def stop(self):
        self.run("pg_ctl", "-D", f"{self.directory}/data", "-m", "immediate", "stop")

    def query(self, sql, database="ferry"):
        command = [f"{self.programs}/psql", "-XAtq", "-h", self.directory, "-U", "ferry", "-d", database, "-c", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.strip()


class Sender:
    """An old program that sends pushes at a pace, and sends again what followed an error."""

    def __init__(self, site, number, pushes, rate):
        self.site, self.source, self.pushes, self.rate = site, f"{site.network}.{number}", pushes, rate
        self.next, self.told, self.longest = 0, collections.Counter(), 0.0
        self.connections, self.again = 0, 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while self.next < len(self.pushes) and not self.site.failed:
            begin = time.monotonic()
            try:
                client = self.site.client(self.source, self.connections)
            except OSError as error:
                self.site.refused.append(f"{self.source}: {error}")
                time.sleep(0.2)
                continue
            self.longest = max(self.longest, time.monotonic() - begin)
            self.connections += 1
            self.serve(client)

    def serve(self, client):
        """Sends until the connection ends, or all is sent and nothing comes for a while."""
        client.socket.setblocking(False)
        last = time.monotonic()
        with contextlib.suppress(OSError), contextlib.closing(client.socket):
            while True:
                if self.heard(client):
                    return
                if self.next < len(self.pushes):
                    if not self.site.paused.is_set():
                        client.socket.setblocking(True)
                        client.send([self.pushes[self.next]], first=self.next)
                        client.socket.setblocking(False)
                        self.next += 1
                        last = time.monotonic()
                    time.sleep(1 / self.rate)
                elif time.monotonic() - last > 4:
                    return client.close()
                else:
                    time.sleep(0.02)

    def heard(self, client):
        """Reads an error response. Returns whether the connection is over."""
        read = b""
        try:
            while len(read) < 6:
                part = client.socket.recv(6 - len(read))
                if not part:
                    return True
                read += part
        except ssl.SSLWantReadError:
            if not read:
                return False
            select.select([client.socket], [], [], PATIENCE)
        _, status, identifier = struct.unpack(">BBI", read)
        self.told[status] += 1
        self.again += self.next - identifier - 1
        self.next = identifier + 1
        return True


class Site:
    """The gateways, what they stand on, and what APNs has accepted."""

    def __init__(self, ferry, directory, bad):
        self.ferry, self.directory = ferry, directory
        self.identity, self.record = f"{directory}/identity", f"{directory}/accepted"
        self.postgres = Postgres(f"{directory}/postgres")
        new = [ferry, "identity", "new", "--topic", TOPIC, "--dir", self.identity]
        subprocess.run(new, check=True, stdout=subprocess.DEVNULL)
        rule = {"tokens": [token.hex() for token in bad], "status": 400, "reason": "BadDeviceToken"}
        pathlib.Path(directory, "script.json").write_text(json.dumps({"http2": {"rules": [rule]}}))
        self.apns = Program(
            ferry, "simulate", "--http2", "0", "--tls-dir", f"{directory}/tls",
            "--script", f"{directory}/script.json", "--record", self.record,
        )
        self.port, self.first = free_port(), free_ports(SHARDS)
        # The ports of the balancer that a client takes in turn, and the network of the clients.
        self.doors, self.network = [self.port], "127.0.4"
        self.paused, self.failed, self.refused = threading.Event(), False, []
        self.gateways = {}
        for number in range(1, len(MACHINES) + 1):
            self.configure(number)
        init = [ferry, "store", "init", "--shards", str(SHARDS), "--config", self.configuration(1)]
        subprocess.run(init, check=True, stdout=subprocess.DEVNULL)

    def configuration(self, number):
        return f"{self.identity}/gateway{number}.json"

    def configure(self, number, ping=30):
        configuration = {
            "listen": {
                "host": MACHINES[number - 1], "port": self.first, "cert": "server.pem", "key": "server-key.pem",
                "proxies": ["127.0.0.0/8"], "proxyRoundTrip": 0.01,
            },
            "upstreams": {
                "apns": {
                    "to": f"localhost:{self.apns.ports['http2']}", "ca": f"{self.directory}/tls/ca.pem",
                    "p8": f"{self.directory}/tls/token-key.p8", "keyID": "FERRYKEY01", "teamID": "FERRYTEAM1",
                    "pingInterval": ping,
                }
            },
            "clients": [{"name": "shop", "cert": "client.pem", "topics": [TOPIC]}],
            "store": {"postgres": self.postgres.connection, "node": f"gw{number}"},
            "admin": {"socket": f"admin{number}"},
        }
        pathlib.Path(self.configuration(number)).write_text(json.dumps(configuration))

    def start(self, number):
        self.gateways[number] = Program(self.ferry, "gateway", "--config", self.configuration(number))

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

    def client(self, source, turn):
        return Client(self.doors[turn % len(self.doors)], source, self.identity, f"{self.identity}/client")

    def owners(self):
        status = [self.ferry, "store", "status", "--json", "--config", self.configuration(1)]
        shards = json.loads(subprocess.run(status, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout)
        return {shard["shard"]: shard["owner"] for shard in shards if shard["owned"]}

    def all_owned(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            return len(self.owners()) == SHARDS
        return False

    def accepted(self):
        with contextlib.suppress(FileNotFoundError):
            with open(self.record) as record:
                return collections.Counter(json.loads(line)["token"] for line in record if line.endswith("\n"))
        return collections.Counter()

    def rejections(self):
        lines = self.postgres.query("select line from ferry.rejection").splitlines()
        return collections.Counter(json.loads(line)["token"] for line in lines)

    def misrouted(self):
        """The sources that the gateways name because they came to two shards, with the shards."""
        words = re.compile(r"ferry: shop comes from (\S+) to the shards (\d+) and (\d+)\. ")
        said = "".join(gateway.said() for gateway in self.gateways.values())
        return collections.Counter((source, int(one), int(other)) for source, one, other in words.findall(said))

    def metric(self, name):
        """The sum of a metric of all gateways."""
        total = 0.0
        for number in self.gateways:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(f"{self.identity}/admin{number}")
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: ferry\r\nConnection: close\r\n\r\n")
                text = read_all(client)[0].decode()
            total += sum(float(value) for value in re.findall(rf"^{name} (\S+)$", text, re.MULTILINE))
        return total

    def scene(self, name, count, rate, event, doubled=0, misroutes=False):
        """Lets all clients send, and `event` happen meanwhile.

        :param doubled: how many notifications may arrive twice.
        :param misroutes: whether the balancer sends a client to two shards. What it sends again may then arrive twice.
        """
        print(f"-- {name}", flush=True)
        self.refused.clear()
        good, senders = [], []
        for number in range(1, CLIENTS + 1):
            pushes = tokens(f"{name} {number}", count)
            # Nine of each client's pushes are refused.
            for index in range(9):
                pushes[(index + 1) * count // 10] = BAD[number][index]
            good += [push.hex() for push in pushes if push not in BAD[number]]
            senders.append(Sender(self, number, pushes, rate))
        time.sleep(1)
        event()
        for sender in senders:
            sender.thread.join(600)
        holds("all clients come to their end", all(not sender.thread.is_alive() for sender in senders))
        is_whole = eventually(lambda: set(good) <= self.accepted().keys())
        accepted = self.accepted()
        lost = sum(push not in accepted for push in good)
        twice = sum(accepted[push] > 1 for push in good)
        told = sum((sender.told for sender in senders), collections.Counter())
        longest = max(sender.longest for sender in senders)
        if misroutes:
            doubled = sum(sender.again for sender in senders)
        facts = f"{len(good)} sent, {twice} doubled, told {dict(told)}, longest handshake {longest:.1f} s"
        holds("nothing is lost", is_whole and lost == 0, f"{lost} lost, {facts}")
        holds(f"at most {doubled} are doubled", twice <= doubled, facts)
        holds("no client is refused", not self.refused, *self.refused[:3])
        if not misroutes:
            holds("no client is named for two shards", not self.misrouted(), *self.misrouted())
        holds("each shard has an owner", eventually(self.all_owned), self.owners())


BAD = {number: tokens(f"bad {number}", 9) for number in range(1, CLIENTS + 1)}


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


# The scenes


def healthy(site, times):
    site.scene("healthy", 200, 100, lambda: None)
    rejected = site.rejections()
    once = all(rejected[token.hex()] == 1 for bad in BAD.values() for token in bad)
    holds("each rejection stands once in the table", once and len(rejected) == 9 * CLIENTS, dict(rejected.most_common(2)))


def killed(site, times):
    """The owner of a shard is killed. Clients pause before: what was read in the last commit may be lost."""

    def event():
        for time_ in range(times):
            number = time_ % len(MACHINES) + 1
            site.paused.set()
            time.sleep(0.5)
            site.gateways[number].process.kill()
            site.gateways[number].process.wait()
            site.paused.clear()
            begin = time.monotonic()
            holds("every shard has an owner again", eventually(site.all_owned), f"after {time.monotonic() - begin:.1f} s")
            site.start(number)
            time.sleep(2)

    site.scene("killed", 400 + 250 * times, 20, event, doubled=64 * times)


def paused(site, times):
    """A gateway is stopped for 15 s. It wakes without the right, and hands over what it had read."""

    def event():
        for time_ in range(times):
            number = time_ % len(MACHINES) + 1
            process = site.gateways[number].process
            begin = time.monotonic()
            process.send_signal(signal.SIGSTOP)
            eventually(lambda: f"gw{number}" not in site.owners().values() and site.all_owned())
            holds("other gateways own its shards", site.all_owned(), f"after {time.monotonic() - begin:.1f} s")
            time.sleep(max(0, begin + 15 - time.monotonic()))
            process.send_signal(signal.SIGCONT)
            time.sleep(5)

    site.scene("paused", 500 * times + 200, 20, event, doubled=64 * times)


def database_restarts(site, times):
    """PostgreSQL crashes and starts again. Every owner comes back."""
    before = site.owners()

    def event():
        for _ in range(times):
            site.postgres.stop()
            site.postgres.start()
            time.sleep(3)

    site.scene("database restarts", 300 + 150 * times, 30, event)
    holds("no shard has changed its owner", site.owners() == before, before)


def sessions_end(site, times):
    """An operator ends every session."""
    before = site.owners()

    def event():
        for _ in range(times):
            site.postgres.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^ferry'")
            time.sleep(2)

    site.scene("sessions end", 200 + 80 * times, 30, event)
    holds("no shard has changed its owner", site.owners() == before, before)


def rolling_upgrade(site, times):
    """Each gateway is ended, and started again."""

    def event():
        for number in range(1, len(MACHINES) + 1):
            site.gateways[number].end()
            site.start(number)
            holds("every shard has an owner", eventually(site.all_owned))
            time.sleep(1)

    site.scene("rolling upgrade", 800, 20, event)


def moved(site, times):
    """Each shard moves to another gateway."""

    def event():
        owners = site.owners()
        for shard, owner in owners.items():
            node = f"gw{int(owner[2:]) % len(MACHINES) + 1}"
            move = [site.ferry, "store", "move", str(shard), node, "--config", site.configuration(1)]
            subprocess.run(move, check=True, stdout=subprocess.DEVNULL)
            is_moved = eventually(lambda: site.owners().get(shard) == node)
            holds(f"shard {shard} moves to {node}", is_moved)

    site.scene("moved", 800, 20, event)


def misrouted(site, times):
    """A balancer sends each client to two shards in turn."""
    sources = {f"127.0.5.{number}" for number in range(1, CLIENTS + 1)}
    other = free_port()
    port = free_port()
    changes = {
        "^  use_backend shard.*$": f"  bind 127.0.0.1:{other}\n"
        f"  use_backend shard6 if {{ dst_port {port} }}\n  use_backend shard1",
        **site.changes(),
    }

    def event():
        begin = time.monotonic()
        is_named = eventually(lambda: sources <= {source for source, _, _ in site.misrouted()})
        passed = time.monotonic() - begin
        named = site.misrouted()
        holds("the alarm names each client with its address within a minute", is_named, f"after {passed:.1f} s")
        holds("it names both shards, once", named == {(source, 1, 6): 1 for source in sources}, dict(named))

    with haproxy("shards.cfg", changes, port):
        site.doors, site.network = [port, other], "127.0.5"
        site.scene("misrouted", 200, 20, event, misroutes=True)
    count = site.metric("ferry_shard_misrouted_total")
    holds("the metric counts the alarms", count == sum(site.misrouted().values()), count)


def reloaded(site, times):
    """Each gateway takes another configuration, whose upstream has other connections, and refuses a faulty one."""

    def ask(number, command, *arguments):
        ask = [site.ferry, "gateway", command, "--socket", f"{site.identity}/admin{number}", *arguments]
        return subprocess.run(ask, capture_output=True, text=True, timeout=PATIENCE)

    def event():
        for time_ in range(times):
            for number in range(1, len(MACHINES) + 1):
                site.configure(number, ping=31 + time_)
                answer = ask(number, "reload")
                is_taken = answer.returncode == 0 and "upstreams changed: apns" in answer.stdout
                holds(f"gw{number} takes the configuration", is_taken, (answer.stdout + answer.stderr).strip())
                configuration = pathlib.Path(site.configuration(number))
                good = configuration.read_text()
                configuration.write_text(good.replace("server.pem", "client-key.pem"))
                answer = ask(number, "reload")
                holds(f"gw{number} refuses a faulty one", answer.returncode == 2, (answer.stdout + answer.stderr).strip())
                configuration.write_text(good)
                time.sleep(0.5)

    site.scene("reloaded", 300 + 100 * times, 40, event)
    statuses = [json.loads(ask(number, "status", "--json").stdout) for number in range(1, len(MACHINES) + 1)]
    own = [sum("inFlight" in shard for shard in status["shards"]) for status in statuses]
    seen = [len([shard for shard in status["shards"] if shard.get("owner")]) for status in statuses]
    holds("each status shows all shards, and each shard has one owner", sum(own) == SHARDS and min(seen) == SHARDS, own, seen)
    holds("nothing waits", all(status["unanswered"] == 0 for status in statuses))


SCENES = [healthy, sessions_end, database_restarts, killed, paused, rolling_upgrade, moved, reloaded, misrouted]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("names", nargs="*", default=[])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o711)
        bad = [token for tokens_ in BAD.values() for token in tokens_]
        site = Site(os.path.abspath(arguments.ferry), directory, bad)
        try:
            for number in range(1, len(MACHINES) + 1):
                site.start(number)
            holds("three gateways own all shards", eventually(site.all_owned), site.owners())
            with haproxy("shards.cfg", site.changes(), site.port):
                for scene in SCENES:
                    if not arguments.names or scene.__name__ in arguments.names:
                        scene(site, arguments.times)
        finally:
            site.postgres.stop()


main()
