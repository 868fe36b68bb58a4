"""The first push after a pause, over a path that forgets quiet connections, and after a stop of the process.

Many senders push to `ferry simulate`. A TCP forwarder stands between Ferry and the simulated APNs, and forgets a
connection that was quiet for some time: the next byte from Ferry is answered with a reset, or with nothing. Each push has
to be accepted once, and within three seconds.

Usage: idle_path.py FERRY [--through push|gateway|drop-in] [--senders N] [--rounds N] [--forgets SECONDS]
                          [--idle-check SECONDS] [--stop SECONDS]

  push      each sender is a `ferry push` that reads from a pipe, with a connection of its own
  gateway   the senders are old clients of one `ferry gateway`, which has the connection
  drop-in   each sender is a program for PyAPNs, with the drop-in in its place; FERRY_LIBRARY names libferry.so.0
"""

import argparse
import asyncio
import collections
import json
import os
import pathlib
import signal
import socket
import ssl
import struct
import sys
import tempfile
import time

LIMIT = 3.0
TOPIC = "com.example.ferry"
COMPAT = pathlib.Path(__file__).resolve().parent.parent.parent / "Compat"
KEY = {"keyID": "FERRYKEY01", "teamID": "FERRYTEAM1"}
DROP_IN = """
import os, sys
from apns import APNs, Payload
apns = APNs(use_sandbox=True, cert_file=os.environ["CERT"], enhanced=True)
for number, line in enumerate(iter(sys.stdin.readline, "")):
    apns.gateway_server.send_notification(line.strip(), Payload(alert="x"), identifier=number + 1)
"""


class Path:
    """Forwards to a port, and forgets connections that were quiet."""

    def __init__(self, port, forgets, resets):
        self.port, self.forgets, self.resets, self.forgotten = port, forgets, resets, 0
        # The loop has weak references to its tasks only.
        self.tasks = set()

    def accept(self, reader, writer):
        task = asyncio.ensure_future(self.serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def serve(self, reader, writer):
        try:
            peer_reader, peer_writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return writer.close()
        state = {"last": time.monotonic(), "forgotten": False}

        async def carry(source, target, from_client):
            while data := await source.read(1 << 16):
                now = time.monotonic()
                if not state["forgotten"] and now - state["last"] >= self.forgets:
                    state["forgotten"] = True
                    self.forgotten += 1
                state["last"] = now
                if not state["forgotten"]:
                    target.write(data)
                elif self.resets and from_client:
                    sock = writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return writer.transport.abort()
            # A path that forgets passes no end on.
            if not state["forgotten"]:
                target.close()

        try:
            await asyncio.gather(carry(reader, peer_writer, True), carry(peer_reader, writer, False))
        except OSError:
            pass
        finally:
            writer.close()
            peer_writer.close()


class Record:
    """What the simulated APNs accepted: how often, and when it was first seen here."""

    def __init__(self, file):
        self.file, self.count, self.time = file, collections.Counter(), {}

    async def follow(self):
        rest = ""
        with open(self.file) as record:
            while True:
                *whole, rest = (rest + record.read()).split("\n")
                for line in whole:
                    token = json.loads(line)["token"]
                    self.count[token] += 1
                    self.time.setdefault(token, time.monotonic())
                await asyncio.sleep(0.05)


class Process:
    """A program that reads one notification a line."""

    def __init__(self, command, line, **environment):
        self.command, self.line, self.environment = command, line, environment

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL, env=dict(os.environ, **self.environment),
        )  # fmt: skip
        self.processes = [self.process]

    async def push(self, token, number):
        self.process.stdin.write(self.line(token).encode())
        await self.process.stdin.drain()

    async def end(self):
        self.process.stdin.close()
        await self.process.wait()


class OldClient:
    """One connection of an old client to the gateway."""

    def __init__(self, port, directory, gateway):
        self.port, self.processes = port, [gateway]
        self.context = ssl.create_default_context(cafile=directory + "/ca.pem")
        self.context.load_cert_chain(directory + "/client.pem", directory + "/client-key.pem")

    async def start(self):
        self.reader, self.writer = await asyncio.open_connection("localhost", self.port, ssl=self.context)

    async def push(self, token, number):
        payload = b'{"aps":{"alert":"x"}}'
        items = [bytes.fromhex(token), payload, struct.pack(">I", number), struct.pack(">I", int(time.time()) + 3600)]
        frame = b"".join(struct.pack(">BH", index + 1, len(item)) + item for index, item in enumerate(items))
        self.writer.write(struct.pack(">BI", 2, len(frame)) + frame)
        await self.writer.drain()

    async def end(self):
        self.writer.close()


async def start(*command):
    """Starts a server; returns its process and its ports."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    return process, json.loads(await process.stdout.readline())


async def senders(arguments, port, tls, directory):
    """The senders, and the processes that end after them. Ferry connects to the port."""
    idle = arguments.idle_check
    if arguments.through == "push":
        command = [
            arguments.ferry, "push", "-", "--backend", "http2", "--to", f"localhost:{port}", "--ca", f"{tls}/ca.pem",
            "--p8", f"{tls}/token-key.p8", "--key-id", KEY["keyID"], "--team-id", KEY["teamID"], "--topic", TOPIC,
        ]  # fmt: skip
        if idle:
            command += ["--idle-check", str(idle)]

        def line(token):
            return json.dumps({"token": token, "payload": {"aps": {"alert": "x"}}}) + "\n"

        return [Process(command, line) for _ in range(arguments.senders)], []
    if arguments.through == "drop-in":
        config = {"backend": "http2", "host": "localhost", "port": port, "ca": f"{tls}/ca.pem"}
        config |= {"idleCheck": idle} if idle else {}
        (directory / "ferry.json").write_text(json.dumps(config))
        cert = directory / "client.pem"
        cert.write_text(pathlib.Path(f"{tls}/client.pem").read_text() + pathlib.Path(f"{tls}/client-key.pem").read_text())
        environment = {"CERT": str(cert), "FERRY_CONFIG": str(directory / "ferry.json"), "PYTHONPATH": f"{COMPAT}/python"}
        command = [sys.executable, "-c", DROP_IN]
        return [Process(command, "{}\n".format, **environment) for _ in range(arguments.senders)], []
    own = str(directory / "gateway")
    made = await asyncio.create_subprocess_exec(
        arguments.ferry, "identity", "new", "--topic", TOPIC, "--dir", own, stdout=asyncio.subprocess.DEVNULL
    )
    await made.wait()
    file = directory / "gateway/gateway.json"
    config = json.loads(file.read_text())
    config["listen"] |= {"port": 0, "feedbackPort": 0}
    upstream = {"to": f"localhost:{port}", "ca": f"{tls}/ca.pem", "p8": f"{tls}/token-key.p8", **KEY}
    upstream |= {"idleCheck": int(idle)} if idle else {}
    config["upstreams"] = {name: upstream for name in config["upstreams"]}
    file.write_text(json.dumps(config))
    gateway, ports = await start(arguments.ferry, "gateway", "--config", file)
    return [OldClient(ports["binary"], own, gateway) for _ in range(arguments.senders)], [gateway]


async def push(sender, record, token, number):
    """Sends one notification; returns a sentence if something is wrong."""
    begin = time.monotonic()
    await sender.push(token, number)
    while token not in record.time:
        if time.monotonic() > begin + 30:
            return f"push {number} was not accepted within 30 s"
        await asyncio.sleep(0.02)
    seconds = record.time[token] - begin
    return f"push {number} took {seconds:.1f} s" if seconds > LIMIT else None


async def run(arguments, resets):
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        tls = f"{name}/tls"
        simulator, ports = await start(
            arguments.ferry, "simulate", "--http2", 0, "--tls-dir", tls, "--record", f"{name}/record"
        )
        record = Record(f"{name}/record")
        follower = asyncio.ensure_future(record.follow())
        path = Path(ports["http2"], arguments.forgets, resets)
        server = await asyncio.start_server(path.accept, "127.0.0.1", 0)
        all_senders, servers = await senders(arguments, server.sockets[0].getsockname()[1], tls, directory)
        faults, pushes = [], 0
        for sender in all_senders:
            await sender.start()
        for number in range(arguments.rounds + 1):
            results = await asyncio.gather(
                *(push(s, record, f"{index:08x}{number:08x}" + "0" * 48, number) for index, s in enumerate(all_senders))
            )
            pushes += len(results) if number else 0
            # The first push of a process waits for its start, too.
            faults += [fault for fault in results if fault and (number or "took" not in fault)]
            if number == arguments.rounds:
                break
            if arguments.stop:
                stopped = {process.pid for sender in all_senders for process in sender.processes}
                for pid in stopped:
                    os.kill(pid, signal.SIGSTOP)
                await asyncio.sleep(arguments.stop)
                for pid in stopped:
                    os.kill(pid, signal.SIGCONT)
            else:
                await asyncio.sleep(arguments.forgets + 1)
        for sender in all_senders:
            await sender.end()
        for process in [*servers, simulator]:
            process.terminate()
            await process.wait()
        await asyncio.sleep(0.1)
        follower.cancel()
        server.close()
        doubled = sum(record.count.values()) - len(record.count)
        way = "reset" if resets else "silence"
        print(
            f"{arguments.through}, {way}: {pushes} first pushes, {path.forgotten} connections forgotten, "
            f"{doubled} doubled, {len(faults)} faults",
            flush=True,
        )
        for fault in faults[:20]:
            print(f"  {fault}")
        return not faults and not doubled and path.forgotten > 0


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("--through", choices=["push", "gateway", "drop-in"], default="push")
    parser.add_argument("--senders", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--forgets", type=float, default=6)
    parser.add_argument("--idle-check", type=float, default=0)
    parser.add_argument("--stop", type=float, default=0)
    arguments = parser.parse_args()
    good = [await run(arguments, resets) for resets in (True, False)]
    sys.exit(0 if all(good) else 1)


asyncio.run(main())
