"""What every client here is given and prints, for those in Python. README.md has the contract."""
import json
import os
import sys
import time


def _number(name, otherwise):
    return int(os.environ.get(name, otherwise))


HOST = os.environ.get("APNS_HOST", "localhost")
PORT = _number("APNS_PORT", 443)
CA = os.environ.get("APNS_CA", "")
KEY = os.environ.get("APNS_KEY", "")
KEY_ID = os.environ.get("APNS_KEY_ID", "")
TEAM_ID = os.environ.get("APNS_TEAM_ID", "")
TOPIC = os.environ.get("APNS_TOPIC", "")
COUNT = _number("COUNT", 0)
WARM_UP = _number("WARM_UP", 0)
AT_ONCE = _number("AT_ONCE", 1)
CONNECTIONS = _number("CONNECTIONS", 1)
RUN = _number("RUN", 0)


def token(number):
    """Returns a device token that no other notification of any run has."""
    return f"{RUN:08x}{number:056x}"


class Clock:
    """The time since its making, and the processor time of this process since then."""

    def __init__(self):
        self.wall = time.perf_counter()
        self.processor = time.process_time()

    @property
    def seconds(self):
        return time.perf_counter() - self.wall

    @property
    def cpu_seconds(self):
        return time.process_time() - self.processor


def presence(client, version):
    """Prints only the version and ends the process if nothing is to be sent."""
    if COUNT == 0:
        print(json.dumps({"client": client, "version": version}))
        sys.exit(0)


def report(client, version, settings, accepted, seconds, cpu_seconds, latencies=()):
    """Prints the figures and ends the process. `latencies` are in seconds, and empty if the client cannot tell them."""
    latencies = sorted(latencies)

    def rank(share):
        return round(latencies[int(share * (len(latencies) - 1))] * 1000, 3) if latencies else None

    figures = {
        "client": client,
        "version": version,
        "settings": settings,
        "count": COUNT,
        "warmUp": WARM_UP,
        "accepted": accepted,
        "seconds": round(seconds, 3),
        "perSecond": round(COUNT / seconds),
        "p50ms": rank(0.50),
        "p99ms": rank(0.99),
        "cpuSeconds": round(cpu_seconds, 3),
    }
    print(json.dumps(figures))
    sys.exit(0 if accepted == COUNT else 1)
