"""What the programs of this folder share that stand behind HAProxy: HAProxy itself, ferry's servers and an old client."""

import atexit
import contextlib
import hashlib
import json
import os
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIGURATIONS = ROOT / "Compat" / "haproxy"
HAPROXY = "/usr/sbin/haproxy"
TOPIC = "com.example.shop"
PATIENCE = 60
# The address from which these programs look whether HAProxy has started.
PROBE = "127.0.2.250"
INVALID_TOKEN = b"\x08\x08"
PAYLOAD = b'{"aps":{"alert":"Hello"}}'


def holds(promise, is_kept, *facts):
    print(f"{'kept' if is_kept else 'BROKEN'}: {promise}", *facts, flush=True)
    if not is_kept:
        # Python prints this after everything that is printed on the way out.
        sys.exit(f"BROKEN: {promise}")


def eventually(condition):
    """Waits until a condition holds. Returns whether it did."""
    end = time.monotonic() + PATIENCE
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return result


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def connect(port, source):
    """Connects to HAProxy, from an address of its own."""
    return socket.create_connection(("127.0.0.1", port), PATIENCE, (source, 0))


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def read_all(connection):
    """Reads to the end. Returns the bytes, and whether a reset ended them."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            parts.append(part)
        return b"".join(parts), False
    return b"".join(parts), True


@contextlib.contextmanager
def haproxy(name, changes, port):
    """Runs HAProxy with a configuration of Compat, after changes of its addresses."""
    text = (CONFIGURATIONS / name).read_text()
    for old, new in {"bind :2195": f"bind 127.0.0.1:{port}", **changes}.items():
        if not re.search(old, text, re.MULTILINE):
            sys.exit(f"{name} has no {old}.")
        text = re.sub(old, new, text, flags=re.MULTILINE)
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
        file.write(text)
        file.flush()
        # Its messages about servers that come and go are not ours.
        process = subprocess.Popen([HAPROXY, "-db", "-f", file.name], stderr=subprocess.DEVNULL)
        try:
            if not eventually(lambda: process.poll() is None and is_open(port)):
                sys.exit(f"HAProxy did not start with {name}.")
            yield
        finally:
            process.kill()
            process.wait()


def is_open(port):
    with contextlib.suppress(OSError):
        connect(port, PROBE).close()
        return True
    return False


class Program:
    """A subcommand of ferry that serves."""

    def __init__(self, ferry, *arguments):
        self.messages = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [ferry, *arguments], stdout=subprocess.PIPE, stderr=self.messages, text=True
        )
        # A broken promise ends this program at once.
        atexit.register(self.process.kill)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"ferry {arguments[0]} did not start:\n{self.said()}")
        self.ports = json.loads(line)

    def said(self):
        # Its process writes at the position of the file, which stays.
        descriptor = self.messages.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode()

    def end(self):
        self.process.terminate()
        if self.process.wait(PATIENCE) != 0:
            sys.exit(f"ferry ended with status {self.process.returncode}:\n{self.said()}")


class Client:
    """A client of the binary protocol with TLS."""

    def __init__(self, port, source, identity, certificate="client"):
        context = ssl.create_default_context(cafile=f"{identity}/ca.pem")
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(f"{certificate}.pem", f"{certificate}-key.pem")
        self.socket = context.wrap_socket(connect(port, source), server_hostname="localhost")

    @staticmethod
    def frames(tokens, first=0):
        return b"".join(
            struct.pack(">BIIH", 1, first + number, 0, 32) + token + struct.pack(">H", len(PAYLOAD)) + PAYLOAD
            for number, token in enumerate(tokens)
        )

    def send(self, tokens, first=0):
        self.socket.sendall(self.frames(tokens, first))

    def close(self):
        """Ends with close_notify, and does not wait for anything."""
        with contextlib.suppress(OSError, ssl.SSLError):
            self.socket.settimeout(0)
            self.socket.unwrap()
        self.socket.close()

    def response(self):
        """Reads the error response, and the end behind it."""
        read = b""
        while part := self.socket.recv(6):
            read += part
        return read


def tokens(name, count):
    return [hashlib.sha256(f"{name} {number}".encode()).digest() for number in range(count)]
