"""Old programs before several gateways, and the record of the simulated APNs."""

import collections
import contextlib
import hashlib
import itertools
import json
import select
import socket
import ssl
import struct
import threading
import time

from stage import PATIENCE, reset

# The first bytes of tokens that the simulated APNs refuses with 400, and with 410.
BAD, GONE = "bad0", "9041"
# The time before the end of a connection in which a push may still be on its way.
ON_THE_WAY = 0.5
# A program that has sent everything, and hears nothing for so long, ends its connection.
QUIET = 3
# Programs that read the feedback service do not come through HAProxy.
READER = "127.0.4.100"


def token(kind, name):
    """A token that the simulated APNs answers as `kind` says, which is BAD, GONE or empty."""
    prefix = bytes.fromhex(kind or "6000")
    return prefix + hashlib.sha256(name.encode()).digest()[len(prefix) :]


class Arrivals:
    """The times at which notifications were seen in the record of the simulated APNs, which is up to 0.2 s late."""

    def __init__(self, path):
        self.path, self.times = path, collections.defaultdict(list)
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        with open(self.path) as record:
            line = ""
            while True:
                line += record.readline()
                if line.endswith("\n"):
                    self.times[json.loads(line)["token"]].append(time.monotonic())
                    line = ""
                else:
                    time.sleep(0.01)

    def count(self, push):
        return len(self.times[push]) if push in self.times else 0

    def total(self):
        return sum(map(len, list(self.times.values())))


class Sender:
    """An old program that sends pushes at a pace, and sends again what followed an error."""

    def __init__(self, site, name, source, rate, least, bad_every, twice_every, bad, ports):
        """Sends until the site is `calm`, and `least` pushes at least.

        :param bad_every: how often APNs refuses a push.
        :param twice_every: how often a push is sent twice on purpose.
        :param bad: the kinds of refused pushes, in turn.
        :param ports: the ports of the balancer, in turn.
        """
        self.site, self.name, self.source, self.rate, self.least = site, name, source, rate, least
        self.bad_every, self.twice_every, self.bad, self.ports = bad_every, twice_every, bad, itertools.cycle(ports)
        # What the program did, for a promise that is broken.
        self.pushes, self.sent_at, self.story = [], [], []
        self.next, self.told, self.longest = 0, collections.Counter(), 0.0
        # What was on its way when an owner ended, before the gateways have seen that the program sends again.
        self.unproven = set()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def push(self, number):
        """The push at a place. The places are filled in their order."""
        while number >= len(self.pushes):
            place = len(self.pushes)
            turn, rest = divmod(place, self.bad_every)
            is_bad = rest == self.bad_every - 1
            if self.twice_every and place % self.twice_every == 1 and not is_bad:
                self.pushes.append(self.pushes[-1])
            else:
                kind = self.bad[turn % len(self.bad)] if is_bad else ""
                self.pushes.append(token(kind, f"{self.name} {place}"))
            self.sent_at.append([])
        return self.pushes[number]

    def has_more(self):
        return self.next < max(self.least, len(self.pushes)) or not self.site.calm.is_set()

    def run(self):
        while self.has_more():
            begin = time.monotonic()
            try:
                client = self.site.client(self.source, next(self.ports))
            except OSError as error:
                self.site.refused.append(f"{self.source}: {error}")
                time.sleep(0.2)
                continue
            self.longest = max(self.longest, time.monotonic() - begin)
            self.tell(f"connected from port {client.socket.getsockname()[1]}")
            self.serve(client)
            self.tell(f"ended before {self.next}")

    def tell(self, what):
        self.story.append((time.monotonic(), what))

    def serve(self, client):
        """Sends until the connection ends, or all is sent and nothing comes for a while."""
        client.socket.setblocking(False)
        last = time.monotonic()
        with contextlib.suppress(OSError), contextlib.closing(client.socket):
            while True:
                if self.heard(client):
                    return
                if self.has_more():
                    if not self.site.paused.is_set():
                        last = self.send(client)
                    time.sleep(1 / self.rate)
                elif time.monotonic() - last > QUIET:
                    return client.close()
                else:
                    time.sleep(0.02)

    def send(self, client):
        push, now = self.push(self.next), time.monotonic()
        self.sent_at[self.next].append(now)
        client.socket.setblocking(True)
        client.send([push], first=self.next)
        client.socket.setblocking(False)
        self.next += 1
        return now

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
        if status == 10 and not self.told[8]:
            places = range(identifier + 1, self.next)
            now = time.monotonic()
            self.unproven |= {self.push(place).hex() for place in places if self.sent_at[place][-1] > now - ON_THE_WAY}
        self.told[status] += 1
        self.tell(f"status {status} for {identifier}, after {self.next - 1} was sent")
        self.next = identifier + 1
        return True


class FeedbackReader:
    """A program that reads the feedback service of one machine."""

    def __init__(self, site, machine, port):
        context = ssl.create_default_context(cafile=f"{site.identity}/ca.pem")
        context.load_cert_chain(f"{site.identity}/client.pem", f"{site.identity}/client-key.pem")
        connection = socket.create_connection((machine, port), PATIENCE, (READER, 0))
        self.socket = context.wrap_socket(connection, server_hostname="localhost")
        self.read = b""

    def read_some(self):
        self.read += self.socket.recv(1 << 14)
        return len(self.read)

    def read_all(self):
        """Reads to the clean end. Returns the tokens."""
        while part := self.socket.recv(1 << 16):
            self.read += part
        self.socket.unwrap().close()
        return [self.read[start + 6 : start + 38].hex() for start in range(0, len(self.read), 38)]

    def kill(self):
        reset(self.socket)
