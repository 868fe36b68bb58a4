"""Gateways, simulated APNs and old clients: real processes in one directory, which end with it."""

import json
import pathlib
import random
import secrets
import select
import shutil
import subprocess
import tempfile
import threading
import time

DEADLINE = 60
# The simulated APNs refuses tokens that begin so.
REFUSALS = {"bad0": "BadDeviceToken", "bad1": "Unregistered"}
KEY = {"keyID": "FERRYKEY01", "teamID": "FERRYTEAM1"}
CLIENTS = ["shop", "news"]


class Trial:
    """The directory with its credentials, and the processes that were started in it."""

    def __init__(self, ferry):
        self.ferry = str(pathlib.Path(ferry).resolve())
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="ferry-admin-"))
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The last one first: a client that outlives its gateway would wait for it.
        for process in reversed(self.processes):
            self.stop(process)
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, *command):
        done = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, timeout=DEADLINE)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command[:3])} failed: {done.stderr.strip()}")

    def start(self, name, *arguments, **streams):
        errors = open(self.directory / f"{name}.err", "w")
        process = subprocess.Popen(
            [self.ferry, *arguments], cwd=self.directory, stderr=errors, bufsize=0,
            **({"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE} | streams),
        )  # fmt: skip
        errors.close()
        process.name, process.was_stopped = name, False
        self.processes.append(process)
        return process

    def lost(self):
        """A sentence for each process that ended by itself."""
        ended = [process for process in self.processes if process.poll() is not None and not process.was_stopped]
        return [
            f"The process {process.name} ended by itself, with status {process.returncode}: "
            + ((self.directory / f"{process.name}.err").read_text().strip()[-500:] or "it said nothing")
            for process in ended
        ]

    def serve(self, name, *arguments):
        """Starts a server; returns its process and its ports."""
        process = self.start(name, *arguments)
        ready, _, _ = select.select([process.stdout], [], [], DEADLINE)
        line = process.stdout.readline() if ready else b""
        if not line.strip():
            errors = (self.directory / f"{name}.err").read_text().strip()
            raise RuntimeError(f"ferry {arguments[0]} did not listen: {errors or f'no line within {DEADLINE} s'}")
        return process, json.loads(line)

    def stop(self, process):
        """Ends a process that may have ended."""
        process.was_stopped = True
        if process.stdin:
            try:
                process.stdin.close()
            except OSError:
                pass
        if process.poll() is None:
            process.terminate()
            try:
                # A gateway without its APNs waits up to 30 s.
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(DEADLINE)

    def simulator(self):
        """Starts a simulated APNs; returns its process and its port."""
        script = self.directory / "script.json"
        rules = [{"prefix": prefix, "reason": reason} for prefix, reason in REFUSALS.items()]
        script.write_text(json.dumps({"http2": {"rules": rules}}))
        process, ports = self.serve("simulate", "simulate", "--http2", "0", "--tls-dir", "tls", "--script", str(script))
        return process, ports["http2"]

    def identities(self):
        """Makes a certificate for each client."""
        for client in CLIENTS:
            self.run(self.ferry, "identity", "new", "--topic", f"com.example.{client}", "--dir", client)

    def other_key(self):
        """Makes a key for provider tokens that APNs does not know."""
        self.run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "other.p8")
        return "other.p8"

    def certificate(self, days):
        """Makes a certificate for a gateway that has so many whole days left, and some hours of the next one."""
        self.run(
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", str(days + 1), "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", "short-key.pem", "-out", "short.pem",
        )  # fmt: skip
        return {"cert": "short.pem", "key": "short-key.pem"}

    def gateway(self, name, upstream, p8="tls/token-key.p8", listen=None):
        """Starts a gateway with two clients and a store; returns its process and its ports."""
        config = {
            "listen": {"port": 0, **(listen or {"cert": "tls/server.pem", "key": "tls/server-key.pem"})},
            "upstreams": {"apns": {"to": f"localhost:{upstream}", "ca": "tls/ca.pem", "p8": p8, **KEY}},
            "clients": [
                {"name": client, "cert": f"{client}/client.pem", "topics": [f"com.example.{client}"]} for client in CLIENTS
            ],
            "rejections": f"{name}.jsonl",
            "store": {"path": f"{name}.db"},
            "admin": {"port": 0},
        }
        file = self.directory / f"{name}.json"
        file.write_text(json.dumps(config))
        return self.serve(name, "gateway", "--config", str(file))

    def client(self, name, port):
        """Starts an old client, which sends each line of its standard input."""
        return self.start(
            f"push-{name}-{port}", "push", "-", "--to", f"localhost:{port}", "--ca", "tls/ca.pem",
            "--cert", f"{name}/client.pem", "--key", f"{name}/client-key.pem",
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        )  # fmt: skip


class Traffic(threading.Thread):
    """Sends through one client at a rate that may change at any time. Some tokens are bad."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.ended, self.rate, self.sent = process, threading.Event(), 0, 0
        self.start()

    def run(self):
        due, last = 0, time.monotonic()
        while not self.ended.wait(0.05):
            now = time.monotonic()
            due += self.rate * (now - last)
            last = now
            lines = ""
            for _ in range(int(due)):
                self.sent += 1
                begin = "bad0" if self.sent % 60 == 7 else "bad1" if self.sent % 90 == 11 else "00ff"
                notification = {"token": begin + secrets.token_hex(30), "payload": {"aps": {"alert": "x"}}}
                lines += json.dumps(notification) + "\n"
            due %= 1
            try:
                self.process.stdin.write(lines.encode())
            except (OSError, ValueError):
                # The client has ended. The page shows it: nothing comes any more.
                return

    def vary(self, minutes, base, burst):
        """Sends for some minutes as an application does: a rate that wavers, and a burst now and then."""
        end = time.monotonic() + minutes * 60
        while (left := end - time.monotonic()) > 0:
            in_burst = left // 60 % 13 in (3, 4)
            self.rate = (burst if in_burst else base) * random.uniform(0.7, 1.3)
            time.sleep(min(left, 5))

    def end(self):
        self.ended.set()
        self.join(DEADLINE)
