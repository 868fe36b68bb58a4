"""PostgreSQL of Debian's packages, and faults between it and a gateway."""

import contextlib
import glob
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading

from stage import PATIENCE, eventually, free_port


class Postgres:
    """A server, which refuses to run as root."""

    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def __init__(self, directory, addresses=(), primary=None):
        """Makes a server and starts it.

        :param addresses: where it listens beside its socket.
        :param primary: the server whose standby it is. Unless given, it has an empty database.
        """
        self.directory, self.data, self.addresses = directory, f"{directory}/data", addresses
        self.port = primary.port if primary else free_port()
        self.connection = f"host={directory} port={self.port} user=ferry dbname=ferry sslmode=disable"
        os.mkdir(directory, 0o700)
        if self.prefix:
            shutil.chown(directory, "postgres", "postgres")
        if primary:
            self.run("pg_basebackup", "-D", self.data, "-d", primary.connection, "-R", "-c", "fast")
            return self.start()
        self.run("initdb", "-D", self.data, "-U", "ferry", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        with open(f"{self.data}/pg_hba.conf", "a") as rules:
            rules.write("host all all 127.0.0.0/8 trust\n")
        self.start()
        self.query("create database ferry", "postgres")

    def run(self, program, *arguments):
        command = [*self.prefix, f"{self.programs}/{program}", *arguments]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=True, cwd="/", timeout=PATIENCE, **quiet)

    def start(self):
        addresses = ",".join(self.addresses)
        options = f"-k {self.directory} -c listen_addresses='{addresses}' -c port={self.port} -c max_connections=100"
        self.run("pg_ctl", "-D", self.data, "-w", "-l", f"{self.directory}/log", "-o", options, "start")

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")

    def is_running(self):
        return os.path.exists(f"{self.data}/postmaster.pid")

    def promote(self):
        self.run("pg_ctl", "-D", self.data, "-w", "promote")

    def query(self, sql, database="ferry"):
        command = [
            f"{self.programs}/psql", "-XAtq", "-h", self.directory, "-p", str(self.port), "-U", "ferry", "-d", database,
            "-c", sql,
        ]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.strip()

    def is_followed(self):
        """Whether a standby has everything."""
        return self.query("select pg_current_wal_lsn() = replay_lsn from pg_stat_replication") == "t"

    def stop_replication(self):
        """Stops the process that sends commits to the standby. A synchronous commit then has no answer."""
        os.kill(int(self.query("select pid from pg_stat_replication")), signal.SIGSTOP)

    def kill(self):
        """Kills every process of the server at once, and removes its data: nobody starts it again."""
        main = int(pathlib.Path(self.data, "postmaster.pid").read_text().split()[0])
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(main)], capture_output=True, text=True)
        for process in [main, *map(int, listed.stdout.split())]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        # A process that has ended and was not collected has no directory.
        if not eventually(lambda: not os.path.exists(f"/proc/{main}/cwd")):
            sys.exit("PostgreSQL outlived its kill.")
        shutil.rmtree(self.directory)


@contextlib.contextmanager
def cut(address, port, toward, back):
    """The kernel drops packets to a server, from it, or both ways. It needs the right to change the packet filter."""
    rules = [["-d", address, "--dport", str(port)]] * toward + [["-s", address, "--sport", str(port)]] * back
    with contextlib.ExitStack() as stack:
        for rule in rules:
            filter_packets("-A", rule)
            stack.callback(filter_packets, "-D", rule)
        yield


def filter_packets(change, rule):
    command = ["iptables", "-w", change, "INPUT", "-p", "tcp", *rule, "-j", "DROP"]
    subprocess.run(command if os.geteuid() == 0 else ["sudo", *command], check=True, timeout=PATIENCE)


class Relay:
    """A way to PostgreSQL that can let a part of a message pass, and hold the rest."""

    def __init__(self, address, port):
        self.server_address = (address, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        # The places at which the next writes of the sessions of shards are held, each for one session.
        self.places, self.held = [], {}
        self.changed = threading.Condition()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        with contextlib.suppress(OSError), socket.create_connection(self.server_address) as server, client:
            threading.Thread(target=self.copy_back, args=(server, client), daemon=True).start()
            first = client.recv(1 << 16)
            server.sendall(first)
            is_shard = b" shard " in first
            while part := client.recv(1 << 18):
                if is_shard:
                    part = self.hold(part, server)
                server.sendall(part)
            server.shutdown(socket.SHUT_WR)

    def copy_back(self, server, client):
        with contextlib.suppress(OSError):
            while part := server.recv(1 << 18):
                client.sendall(part)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def hold(self, part, server):
        """Passes the beginning of a write if a place is left for it. Returns the rest when it may go on."""
        with self.changed:
            if not self.places or server in self.held:
                return part
            place = self.places.pop(0)
            length = place if place > 0 else len(part) + place
            length = max(1, min(length, len(part) - 1))
            server.sendall(part[:length])
            self.held[server] = f"{length} of {len(part)}"
            self.changed.notify_all()
            self.changed.wait_for(lambda: server not in self.held)
            return part[length:]

    def hold_next(self, places):
        """Holds the next write of as many sessions as there are places. Returns how much of each has passed."""
        with self.changed:
            self.places = list(places)
            self.changed.wait_for(lambda: not self.places, PATIENCE)
            self.places = []
            return list(self.held.values())

    def go_on(self):
        with self.changed:
            self.held.clear()
            self.changed.notify_all()
