"""Old programs before several gateways, and the record of the simulated APNs."""

import collections
import contextlib
import hashlib
import itertools
import json
import queue
import random
import select
import socket
import ssl
import struct
import threading
import time

from stage import PATIENCE, PAYLOAD, Client, connect, reset

# The first bytes of tokens that the simulated APNs refuses with 400, and with 410.
BAD, GONE = "bad0", "9041"
# The time before the end of a connection in which a push may still be on its way.
ON_THE_WAY = 0.5
# Libraries send again at once.
COPY = 0.001
EXPIRATION = struct.pack(">I", 2**31 - 1)
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
    """An old program as node-apn. It numbers its pushes, reads at once, and sends again what followed an error."""

    # The pushes that it writes at once. It sends only a part of the pushes if it is slow.
    burst, part = 1, 1
    # The seconds before it connects again, and those by which everything reaches it late.
    delay = lateness = 0.0
    sends_again = True
    # Whether a gateway that gives its shard up tells it which pushes have arrived.
    is_told_the_end = True

    def __init__(self, site, name, source, rate, least, bad_every, twice_every, bad, ports):
        """Sends until the site is `calm`, and `least` pushes at least.

        :param bad_every: how often APNs refuses a push.
        :param twice_every: how often a push is sent twice on purpose.
        :param bad: the kinds of refused pushes, in turn.
        :param ports: the ports of the balancer, in turn.
        """
        self.site, self.name, self.source, self.rate = site, name, source, rate
        self.least, self.bad_every = least // self.part, max(bad_every // self.part, min(bad_every, 10))
        self.twice_every, self.bad, self.ports = twice_every, bad, itertools.cycle(ports)
        # What the program did, for a promise that is broken.
        self.pushes, self.sent_at, self.story = [], [], []
        # The place of the next new push, the places that are to be sent again, and those of this connection.
        self.next, self.again, self.written = 0, collections.deque(), []
        self.told, self.blamed, self.longest = collections.Counter(), collections.Counter(), 0.0
        # Whether the end of the connection has a reason: an error response, or the program itself.
        self.has_reason, self.silent_ends = False, 0
        # An error response that names nothing of its connection ends the program before its time.
        self.is_finished = False
        # What was on its way when an owner ended, before the gateways have seen that the program sends again.
        self.unproven = set()
        # Pushes that the program itself loses, or may double.
        self.given_up, self.repeated = set(), set()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def push(self, number):
        """The push at a place. The places are filled in their order."""
        while number >= len(self.pushes):
            place = len(self.pushes)
            turn, rest = divmod(place, self.bad_every)
            is_bad = rest == self.bad_every - 1
            follows_bad = rest == 0
            if self.twice_every and place % self.twice_every == 1 and not is_bad and not follows_bad:
                self.pushes.append(self.pushes[-1])
            else:
                kind = self.bad[turn % len(self.bad)] if is_bad else ""
                self.pushes.append(token(kind, f"{self.name} {place}"))
            self.sent_at.append([])
        return self.pushes[number]

    def has_more(self):
        return bool(self.again) or self.next < self.least or not self.site.calm.is_set()

    def run(self):
        while self.has_more():
            begin = time.monotonic()
            try:
                client = self.site.client(self.source, next(self.ports))
            except OSError as error:
                self.site.refused.append((time.monotonic(), f"{self.source}: {error}"))
                time.sleep(0.2)
                continue
            self.longest = max(self.longest, time.monotonic() - begin)
            self.tell(f"connected from port {client.socket.getsockname()[1]}")
            self.written, self.has_reason = [], False
            with contextlib.suppress(OSError), contextlib.closing(client.socket):
                self.serve(client)
            self.tell(f"ended before {self.next}")
            if not self.has_reason and self.written:
                self.silent_ends += 1
                self.tell("heard nothing")
                self.ended()
            time.sleep(self.delay)
        self.is_finished = True

    def tell(self, what):
        self.story.append((time.monotonic(), what))

    def print_story(self, start=0):
        """Prints what the program did, in seconds since `start`."""
        for time_, what in self.story:
            print(f"{self.source} at {time_ - start:.2f}: {what}")

    def serve(self, client):
        """Sends until the connection ends, or all is sent and nothing comes for a while."""
        client.socket.setblocking(False)
        last = time.monotonic()
        while not self.hears(client):
            if self.has_more():
                if not self.site.paused.is_set():
                    last = self.send(client)
                time.sleep(COPY if self.again else self.burst / self.rate)
            elif time.monotonic() - last > QUIET:
                return self.close(client)
            else:
                time.sleep(0.02)

    def close(self, client):
        self.has_reason = True
        client.close()

    def send(self, client):
        now, frames, places = time.monotonic(), b"", []
        while len(places) < self.burst and self.has_more():
            places.append(place := self.take_next())
            identifier = self.identifier(place)
            frames += self.frame(self.push(place), identifier)
            self.sent_at[place].append(now)
            self.written.append((identifier, place))
        client.socket.setblocking(True)
        try:
            client.socket.sendall(frames)
        except OSError:
            # The connection was reset before.
            self.again.extendleft(reversed(places))
            raise
        client.socket.setblocking(False)
        return now

    def take_next(self):
        if self.again:
            return self.again.popleft()
        self.next += 1
        return self.next - 1

    def identifier(self, place):
        return place

    def frame(self, push, identifier):
        return Client.frames([push], identifier)

    def hears(self, client):
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
        self.has_reason = True
        self.told[status] += 1
        self.tell(f"status {status} for {identifier}, after {self.next - 1} was sent")
        index = [written for written, _ in self.written].index(identifier)
        return self.heard(status, index, client)

    def heard(self, status, index, client):
        """Acts on an error response for what was written as number `index`. Returns whether the connection is over."""
        followers = [place for _, place in self.written[index + 1 :]]
        if status == 10 and not self.told[8]:
            now = time.monotonic()
            late = now - ON_THE_WAY - self.lateness
            self.unproven |= {self.push(place) for place in followers if self.sent_at[place][-1] > late}
        if status == 8:
            self.blamed[self.written[index][1]] += 1
        if self.sends_again:
            self.repeat(self.remembered(followers))
        return True

    def remembered(self, followers):
        """The part of the followers of an error that the program sends again, in this order."""
        return followers

    def repeat(self, places):
        self.again.extendleft(reversed(places))

    def ended(self):
        """Acts on the end of a connection without an error response."""


class Forgetful(Sender):
    """As java-apns. It remembers 100 pushes, and resets the connection when it reads an error response."""

    def heard(self, status, index, client):
        reset(client.socket)
        return super().heard(status, index, client)

    def remembered(self, followers):
        return followers[-100:]


class Reordering(Sender):
    """As timehop. It remembers 50 pushes, and sends them again in another order."""

    def remembered(self, followers):
        places = {place: number + random.uniform(0, 20) for number, place in enumerate(followers[-50:])}
        return sorted(places, key=places.get)


class Delayed(Sender):
    """As go-libapns. Its caller sends again after a while."""

    delay = 1.0


class Batch(Sender):
    """As JavaPNS. It writes 100 pushes, and then looks for an error response."""

    burst = 100

    def hears(self, client):
        select.select([client.socket], [], [], 0.5)
        return super().hears(client)


class Staying(Sender):
    """As apns4erl. It sends again on the connection that was told, with the same identifiers, until that ends."""

    def serve(self, client):
        try:
            super().serve(client)
        finally:
            # What it wrote last does not come again, so its twin may be taken for a copy.
            if self.has_reason and self.written:
                self.given_up.add(self.written[-1][1])

    def heard(self, status, index, client):
        super().heard(status, index, client)
        return False


class Circling(Sender):
    """As Pushy. What it writes on the connection that was told goes out again, until that ends."""

    def serve(self, client):
        self.is_told = False
        super().serve(client)

    def identifier(self, place):
        return len(self.written) + 1

    def frame(self, push, identifier):
        items = [(3, struct.pack(">I", identifier)), (1, push), (2, PAYLOAD), (4, EXPIRATION), (5, b"\n")]
        body = b"".join(struct.pack(">BH", kind, len(value)) + value for kind, value in items)
        return struct.pack(">BI", 2, len(body)) + body

    def take_next(self):
        place = super().take_next()
        if self.is_told:
            self.again.append(place)
        return place

    def repeat(self, places):
        self.again.extend(places)

    def heard(self, status, index, client):
        super().heard(status, index, client)
        self.is_told = True
        return False


class Repeating(Sender):
    """It sends its last ten pushes again when a connection ends without a word."""

    def ended(self):
        last = [place for _, place in self.written[-10:]]
        self.again.extendleft(reversed(last))
        self.repeated |= {self.push(place) for place in last}


class Once(Sender):
    """As uniqush. It reads, and never sends again."""

    sends_again = is_told_the_end = False

    def heard(self, status, index, client):
        # The twin of the last push may be taken for a copy.
        self.given_up.add(self.written[-1][1])
        return super().heard(status, index, client)


class Unnumbered(Sender):
    """As PyAPNs. All its identifiers are 0, so an error response would make it send everything again."""

    is_told_the_end = False

    def identifier(self, place):
        return 0


class Silent(Unnumbered):
    """As grocer. It reads nothing, and does not see the end of a connection before it writes."""

    sends_again = False

    def hears(self, client):
        return False

    def ended(self):
        now = time.monotonic()
        self.given_up |= {place for _, place in self.written if self.sent_at[place][-1] > now - ON_THE_WAY}


class Script(Sender):
    """As scripts that end. It writes 50 pushes, and closes the connection at once."""

    burst = 50
    sends_again = is_told_the_end = False

    def serve(self, client):
        if not self.site.paused.is_set():
            self.send(client)
        self.close(client)
        time.sleep(self.burst / self.rate)


class Single(Unnumbered):
    """As scripts in PHP. It opens a connection for each push, and waits for an error response for 0.2 s."""

    part = 20
    sends_again = False

    def serve(self, client):
        if not self.site.paused.is_set():
            self.send(client)
        client.socket.settimeout(0.2)
        self.has_reason = True
        with contextlib.suppress(TimeoutError):
            self.hears(client)
        self.close(client)


MODELS = [
    Sender, Forgetful, Reordering, Delayed, Batch, Staying, Circling, Repeating, Once, Unnumbered, Silent, Script,
    Single,
]


class Flood(Sender):
    """It sends 2,000 pushes as fast as it can, half of which are refused."""

    def __init__(self, site, name, source, rate, least, bad_every, *others, begin):
        """:param begin: the event at which it begins."""
        self.begin = begin
        super().__init__(site, name, source, 1_000_000, 2000, 2, *others)

    def run(self):
        self.begin.wait()
        super().run()

    def has_more(self):
        return bool(self.again) or self.next < self.least


class Late(Sender):
    """It hears everything late."""

    lateness = 2.0


class LatePath:
    """A way to the balancer, from which everything comes late as soon as a connection has some age."""

    def __init__(self, port, seconds, age):
        """:param seconds: how late it comes.
        :param age: the seconds after the beginning of a connection. In a handshake, a gateway sees how late it is.
        """
        self.balancer, self.seconds, self.age = port, seconds, age
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, (source, _) = self.listener.accept()
                balancer = connect(self.balancer, source)
                balancer.settimeout(None)
                late_at = time.monotonic() + self.age
                self.carry(client, balancer, lambda at: at)
                self.carry(balancer, client, lambda at, late_at=late_at: at + self.seconds * (at >= late_at))

    def carry(self, sender, receiver, due):
        parts = queue.SimpleQueue()

        def read():
            part = b" "
            while part:
                try:
                    part = sender.recv(1 << 16)
                except OSError:
                    part = b""
                parts.put((due(time.monotonic()), part))

        def write():
            with contextlib.suppress(OSError):
                while True:
                    at, part = parts.get()
                    time.sleep(max(0, at - time.monotonic()))
                    if not part:
                        return receiver.shutdown(socket.SHUT_WR)
                    receiver.sendall(part)

        for body in (read, write):
            threading.Thread(target=body, daemon=True).start()

    def close(self):
        self.listener.close()


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
