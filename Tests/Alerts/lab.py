"""A gateway with a simulated APNs behind it and old clients before it, whose trouble is scraped as Prometheus would."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

from prometheus import Fault, Scrape

TOPIC = "com.example.shop"
# The first digits of a token decide what the simulated APNs answers. Other tokens are good.
TOKENS = {"good": "00", "bad": "b0", "gone": "b1", "fault": "b2", "busy": "b3", "wrong": "b4", "lost": "b5", "slow": "b6"}
RULES = [
    {"prefix": TOKENS["bad"], "reason": "BadDeviceToken"},
    {"prefix": TOKENS["gone"], "status": 410},
    {"prefix": TOKENS["fault"], "status": 503},
    {"prefix": TOKENS["busy"], "reason": "TooManyRequests"},
    {"prefix": TOKENS["wrong"], "reason": "BadPriority"},
    {"prefix": TOKENS["lost"], "action": "loseAnswer"},
    {"prefix": TOKENS["slow"], "status": 200, "delaySeconds": 3},
]

# The room for notifications without an answer cannot be full with fewer.
MANY = 55_000


class Program:
    """A server of Ferry. Its first line has its ports."""

    def __init__(self, command, folder, log, environment=None, **options):
        with open(log, "ab") as standard_error:
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.PIPE, stderr=options.pop("stderr", standard_error),
                env=dict(os.environ, **environment or {}), **options,
            )  # fmt: skip
        line = []
        reader = threading.Thread(target=lambda: line.append(self.process.stdout.readline()), daemon=True)
        reader.start()
        reader.join(60)
        if not line or not line[0]:
            self.end(signal.SIGKILL)
            raise Fault(f"{' '.join(map(str, command))} did not start: {pathlib.Path(log).read_text()[-500:]}")
        self.ports = json.loads(line[0])

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self, number=signal.SIGTERM):
        """Ends the process. One that does not obey is killed."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            # A stopped process takes the signal when it goes on.
            self.process.send_signal(signal.SIGCONT)
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()


class Path:
    """Forwards connections to a port, and forgets those that it has on demand: it takes their bytes and passes none on."""

    def __init__(self):
        self.port, self.age = None, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.own_port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def forget(self):
        self.age += 1

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.port), timeout=10)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(source, target, self.age), daemon=True).start()

    def carry(self, source, target, age):
        try:
            while data := source.recv(1 << 16):
                if age == self.age:
                    target.sendall(data)
            if age == self.age:
                target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


class Lab:
    """One situation: its folder, its processes, and the scrapes before, during and after the trouble."""

    # All waits of all laboratories end when it is set.
    is_over = threading.Event()

    def __init__(self, ferry, library):
        self.ferry, self.library = ferry, library
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ferry-alerts-"))
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        self.scrapes = {"before": [], "during": [], "after": []}
        self.phase = "before"
        self.apns = self.gateway = None
        self.path = None
        self.number = 0
        self.open_sockets = []

    def close(self):
        for path in self.disk.iterdir():
            path.unlink()
        for connection in self.open_sockets:
            connection.close()
        for program in (self.gateway, self.apns):
            if program:
                program.end()
        if self.path:
            self.path.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # The servers

    def start_apns(self, rules=RULES, **script):
        """Starts the simulated APNs, at its port of before if there was one."""
        (self.folder / "script.json").write_text(json.dumps({"http2": {"rules": rules, **script}}))
        port = self.apns.ports["http2"] if self.apns else 0
        command = [self.ferry, "simulate", "--http2", str(port), "--tls-dir", "tls", "--script", "script.json"]
        self.apns = Program(command, self.folder, self.folder / "apns.log")

    def restart_apns(self, rules=RULES, **script):
        self.apns.end()
        self.start_apns(rules, **script)

    def configure(self, *, through_path=False, store=True, upstream=None, client=None, **members):
        """Writes the configuration of the gateway. A member of the upstream that is None is left out."""
        port = self.apns.ports["http2"]
        if through_path:
            self.path = Path()
            self.path.port, port = port, self.path.own_port
        to_apns = {
            "to": f"localhost:{port}", "ca": "tls/ca.pem", "p8": "tls/token-key.p8",
            "keyID": "FERRYKEY01", "teamID": "FERRYTEAM1", **(upstream or {}),
        }  # fmt: skip
        self.configuration = {
            "listen": {"port": 0, "cert": "tls/server.pem", "key": "tls/server-key.pem"},
            "upstreams": {"apns": {name: value for name, value in to_apns.items() if value is not None}},
            "clients": [{"name": "shop", "cert": "tls/client.pem", "topics": [TOPIC], **(client or {})}],
            "rejections": "rejections.jsonl",
            "admin": {"port": 0, "socket": str(self.folder / "admin")},
            **members,
        }
        if store:
            self.configuration["store"] = {"path": "gateway.db"}
        self.write_configuration()

    def write_configuration(self):
        (self.folder / "gateway.json").write_text(json.dumps(self.configuration))

    def start_gateway(self, files=None, **options):
        """Starts the gateway. `files` is its limit of open files."""
        command = ["prlimit", f"--nofile={files}:{files}"] if files else []
        command += [self.ferry, "gateway", "--config", "gateway.json"]
        self.gateway = self.on_disk(command, "gateway.log", **options)

    def on_disk(self, command, log, **options):
        """Starts a program whose disk has the troubles."""
        environment = {"LD_PRELOAD": str(self.library), "FERRY_DISK": str(self.disk)}
        return Program(command, self.folder, self.folder / log, environment, **options)

    def start_second(self):
        """Starts a gateway with the same store beside the other one, and returns it."""
        admin = {"port": 0, "socket": str(self.folder / "second")}
        second = {**self.configuration, "rejections": "second.jsonl", "admin": admin}
        (self.folder / "second.json").write_text(json.dumps(second))
        return self.on_disk([self.ferry, "gateway", "--config", "second.json"], "second.log")

    def reload(self):
        """Lets the gateway read the changed configuration."""
        self.write_configuration()
        self.run("gateway", "reload", "--config", "gateway.json")

    def run(self, *arguments, statuses=(0,)):
        """Runs a command of Ferry, which must end with one of these statuses."""
        run = subprocess.run([self.ferry, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60)
        if run.returncode not in statuses:
            raise Fault(f"ferry {' '.join(arguments)} ended with {run.returncode}: {run.stderr.strip()}")

    def start(self, *, script=None, files=None, **configuration):
        """Starts both servers, and scrapes the gateway while it is well and has traffic."""
        self.start_apns(**script or {})
        self.configure(**configuration)
        self.start_gateway(files=files)
        for _ in range(2):
            self.traffic()
            self.scrape()

    # The scrapes

    def begin(self):
        self.phase = "during"

    def end(self):
        self.phase = "after"

    def read(self):
        """Reads /metrics; None if there is no answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.ports["admin"], timeout=5)
        try:
            connection.request("GET", "/metrics")
            answer = connection.getresponse()
            text = answer.read().decode()
            return Scrape(text) if answer.status == 200 else None
        except OSError:
            return None
        finally:
            connection.close()

    def scrape(self):
        self.scrapes[self.phase].append(self.read())

    def until(self, condition, what, limit=60):
        """Waits until a scrape meets the condition."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            scrape = self.read()
            if scrape and condition(scrape):
                return
            self.wait(0.2)
        values = {name: value for name, value in scrape.values.items() if value and "_bucket" not in name} if scrape else {}
        raise Fault(f"After {limit} s, it is still not so that {what}. The last scrape: {values}")

    def until_old(self):
        """Waits until a notification is so old that an alert names its age."""
        self.until(lambda s: s.sum("oldest_seconds") > 301, "the oldest notification waits for 5 minutes", 330)

    def wait(self, seconds):
        if self.is_over.wait(seconds):
            raise Fault("The trial was ended.")

    def settle(self, limit=90):
        """Waits until each notification has its final answer."""
        # Answers of /metrics are up to 100 ms old.
        self.wait(0.15)
        self.until(lambda s: s.sum("unanswered_notifications") == 0, "each notification has its final answer", limit)

    # The clients

    def tokens(self, counts):
        """Makes device tokens of each kind, in turns."""
        tokens = []
        for kind, count in counts.items():
            for place in range(count):
                self.number += 1
                tokens.append((place / count, TOKENS[kind] + f"{self.number:062x}"))
        return [token for _, token in sorted(tokens)]

    def push(self, **counts):
        """Sends notifications with `ferry push`, as `push(good=90, bad=10)`, and waits until the gateway has them."""
        lines = [json.dumps({"token": t, "payload": {"aps": {"alert": t[-8:]}}}) + "\n" for t in self.tokens(counts)]
        (self.folder / "lines.jsonl").write_text("".join(lines))
        # The answer to a probe says that the gateway has read everything before it. A refused token is told with status 1.
        self.run(
            "push", "lines.jsonl", "--to", f"localhost:{self.gateway.ports['binary']}", "--ca", "tls/ca.pem",
            "--cert", "tls/client.pem", "--key", "tls/client-key.pem", "--proof", "probe", statuses=(0, 1),
        )  # fmt: skip

    def traffic(self, **counts):
        """Pushes, by default 100 good notifications, and waits for their final answers."""
        self.push(**counts or {"good": 100})
        self.settle()

    def connect(self, certificate="tls/client.pem", key="tls/client-key.pem"):
        """Connects as an old client; None if the gateway refuses it."""
        context = ssl.create_default_context(cafile=self.folder / "tls/ca.pem")
        # In TLS 1.3 a client learns only later that it was refused.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.folder / certificate, self.folder / key)
        try:
            plain = self.dial()
            return context.wrap_socket(plain, server_hostname="localhost")
        except OSError:
            return None

    def dial(self, address="127.0.0.1"):
        """Opens a connection without TLS, from an address of this machine. It is closed with the laboratory."""
        plain = socket.create_connection(("127.0.0.1", self.gateway.ports["binary"]), 10, (address, 0))
        self.open_sockets.append(plain)
        return plain

    def send(self, payload=None, **counts):
        """Sends as an old client that reads no answer. Returns whether the gateway took the connection."""
        connection = self.connect()
        if not connection:
            return False
        try:
            connection.sendall(self.frames(payload, **counts))
            connection.shutdown(socket.SHUT_WR)
            # When the gateway has read everything, it closes its side, too, unless it waits for something.
            connection.settimeout(2)
            while connection.recv(1 << 16):
                pass
        except TimeoutError:
            pass
        except OSError:
            return False
        finally:
            connection.close()
        return True

    def frames(self, payload=None, **counts):
        """Makes the bytes of notifications of each kind. Each expires in two hours, so that none is given up here."""
        expiration = struct.pack(">I", int(time.time()) + 7200)
        frames = []
        for number, token in enumerate(self.tokens(counts)):
            text = payload or b'{"aps":{"alert":"%s"}}' % token[-8:].encode()
            items = [bytes.fromhex(token), text, struct.pack(">I", number), expiration]
            data = b"".join(struct.pack(">BH", place + 1, len(item)) + item for place, item in enumerate(items))
            frames.append(struct.pack(">BI", 2, len(data)) + data)
        return b"".join(frames)

    # The disk

    def trouble(self, name):
        (self.disk / name).touch()

    def no_trouble(self, name):
        (self.disk / name).unlink()
