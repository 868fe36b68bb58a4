"""The first push after a pause, over a path that forgets quiet connections, and after a stop of the process.

Many `ferry push` processes send to `ferry simulate` through a TCP forwarder. The forwarder forgets a connection that was
quiet for some time: the next byte from the client is answered with a reset, or with nothing. Each push has to be accepted
within three seconds; none may be lost or uncertain.

Usage: idle_path.py FERRY [--senders N] [--rounds N] [--forgets SECONDS] [--idle-check SECONDS] [--stop SECONDS]
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import struct
import sys
import tempfile
import time

LIMIT = 3.0


class Path:
    """Forwards to a port, and forgets connections that were quiet."""

    def __init__(self, port, forgets, resets):
        self.port, self.forgets, self.resets, self.forgotten = port, forgets, resets, 0

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

        try:
            await asyncio.gather(carry(reader, peer_writer, True), carry(peer_reader, writer, False))
        except OSError:
            pass
        finally:
            writer.close()
            peer_writer.close()


class Sender:
    """One `ferry push` that reads from a pipe."""

    def __init__(self, arguments, port, directory, name):
        self.arguments, self.port, self.directory, self.name = arguments, port, directory, name
        self.outcomes = {}
        self.arrived = asyncio.Event()

    async def start(self):
        command = [
            self.arguments.ferry, "push", "-", "--backend", "http2", "--to", f"127.0.0.1:{self.port}",
            "--server-name", "localhost", "--ca", f"{self.directory}/ca.pem", "--p8", f"{self.directory}/token-key.p8",
            "--key-id", "FERRYKEY01", "--team-id", "FERRYTEAM1", "--topic", "com.example.ferry", "--events", "-",
        ]  # fmt: skip
        if self.arguments.idle_check:
            command += ["--idle-check", str(self.arguments.idle_check)]
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        self.task = asyncio.create_task(self.read())

    async def read(self):
        while line := await self.process.stdout.readline():
            event = json.loads(line)
            if "outcome" in event:
                self.outcomes[event["ref"]] = (event["outcome"], time.monotonic())
                self.arrived.set()

    async def push(self, round_):
        """Sends one notification; returns a sentence if something is wrong."""
        ref = f"{self.name}-{round_}"
        token = f"{self.name:08x}{round_:08x}" + "0" * 48
        line = json.dumps({"token": token, "payload": {"aps": {"alert": "x"}}, "ref": ref}) + "\n"
        begin = time.monotonic()
        self.process.stdin.write(line.encode())
        await self.process.stdin.drain()
        while ref not in self.outcomes:
            if time.monotonic() > begin + 30:
                return f"{ref} has no outcome after 30 s"
            self.arrived.clear()
            try:
                await asyncio.wait_for(self.arrived.wait(), 1)
            except asyncio.TimeoutError:
                pass
        outcome, end = self.outcomes[ref]
        if outcome != "accepted":
            return f"{ref} is {outcome}"
        if end - begin > LIMIT:
            return f"{ref} took {end - begin:.1f} s"
        return None

    async def end(self):
        self.process.stdin.close()
        await self.process.wait()
        await self.task


async def run(arguments, resets):
    with tempfile.TemporaryDirectory() as directory:
        simulator = await asyncio.create_subprocess_exec(
            arguments.ferry, "simulate", "--http2", "0", "--tls-dir", directory,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        port = json.loads(await simulator.stdout.readline())["http2"]
        path = Path(port, arguments.forgets, resets)
        server = await asyncio.start_server(path.serve, "127.0.0.1", 0)
        own = server.sockets[0].getsockname()[1]
        senders = [Sender(arguments, own, directory, name) for name in range(arguments.senders)]
        faults = []
        pushes = 0
        for sender in senders:
            await sender.start()
        for round_ in range(arguments.rounds + 1):
            results = await asyncio.gather(*(sender.push(round_) for sender in senders))
            pushes += len(results) if round_ else 0
            # The first push of a process waits for its start, too.
            faults += [fault for fault in results if fault and (round_ or "took" not in fault)]
            if round_ == arguments.rounds:
                break
            if arguments.stop:
                for sender in senders:
                    os.kill(sender.process.pid, signal.SIGSTOP)
                await asyncio.sleep(arguments.stop)
                for sender in senders:
                    os.kill(sender.process.pid, signal.SIGCONT)
            else:
                await asyncio.sleep(arguments.forgets + 1)
        for sender in senders:
            await sender.end()
        server.close()
        simulator.send_signal(signal.SIGINT)
        await simulator.wait()
        way = "reset" if resets else "silence"
        print(f"{way}: {pushes} first pushes, {path.forgotten} connections forgotten, {len(faults)} faults")
        for fault in faults[:20]:
            print(f"  {fault}")
        if not path.forgotten:
            faults.append("nothing was forgotten")
        return not faults


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("--senders", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--forgets", type=float, default=6)
    parser.add_argument("--idle-check", type=float, default=0)
    parser.add_argument("--stop", type=float, default=0)
    arguments = parser.parse_args()
    good = [await run(arguments, resets) for resets in (True, False)]
    sys.exit(0 if all(good) else 1)


asyncio.run(main())
