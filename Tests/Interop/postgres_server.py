"""PostgreSQL of Debian's packages, and faults between it and a gateway."""

import contextlib
import glob
import os
import pathlib
import shutil
import signal
import subprocess
import sys

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
