"""apns-clerk, a library of the binary protocol, delivers over HTTP/2 through ferry gateway.

Usage: apns_clerk_gateway.py FERRY. Fails unless a simulated APNs has accepted every good token exactly once, and every
bad token stands exactly once in the list of rejections.
"""

import collections
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile

from apns_clerk import APNs, Message, Session

TOPIC = "com.example.shop"
COUNT = 2000
BAD = {150, 401, 777, 1000, 1234, 1500, 1750, 1900, 1999}
# Each error response costs one round.
ROUNDS = 3 * len(BAD)
# Answers of APNs may still be on their way when the client has nothing more to send.
SHUTDOWN_SECONDS = 60


@contextlib.contextmanager
def running(ferry, *arguments):
    """Runs a server, yields its ports, and ends it in order."""
    process = subprocess.Popen([ferry, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        if not line:
            sys.exit(f"ferry {arguments[0]} did not start.")
        yield json.loads(line)
        process.terminate()
        if process.wait(SHUTDOWN_SECONDS) != 0:
            sys.exit(f"ferry {arguments[0]} ended with status {process.returncode}.")
    finally:
        process.kill()


def send(port, identity, tokens):
    """Sends one message to all tokens, again and again as the library proposes. Returns what it counts as failed."""
    connection = Session().get_connection(
        ("localhost", port),
        cert_file=os.path.join(identity, "client.pem"),
        key_file=os.path.join(identity, "client-key.pem"),
    )
    service, message, failed = APNs(connection), Message(tokens, alert="Hello"), set()
    for _ in range(ROUNDS):
        result = service.send(message)
        failed |= set(result.failed)
        if not result.needs_retry():
            return failed
        message = result.retry()
    sys.exit(f"After {ROUNDS} rounds apns-clerk still has {len(message.tokens)} tokens to send again.")


def lines(file):
    with open(file) as opened:
        return [json.loads(line) for line in opened]


def check(what, tokens, expected):
    """Fails unless each of the expected tokens is there once, and nothing else."""
    counts = collections.Counter(tokens)
    lost = sum(counts[token] == 0 for token in expected)
    doubled = sum(count > 1 for count in counts.values())
    others = len(counts.keys() - expected)
    print(f"{what}: {len(expected)} expected, {lost} lost, {doubled} doubled, {others} others")
    return lost == doubled == others == 0


def main(ferry):
    tokens = [hashlib.sha256(b"device %d" % number).hexdigest() for number in range(COUNT)]
    bad = {tokens[number] for number in BAD}
    with tempfile.TemporaryDirectory() as directory:

        def path(name):
            return os.path.join(directory, name)

        new = [ferry, "identity", "new", "--topic", TOPIC, "--dir", path("identity")]
        subprocess.run(new, check=True, stdout=subprocess.DEVNULL)
        rule = {"tokens": sorted(bad), "status": 400, "reason": "BadDeviceToken"}
        with open(path("script.json"), "w") as script:
            json.dump({"http2": {"rules": [rule]}}, script)
        apns = ["--http2", "0", "--tls-dir", path("tls"), "--script", path("script.json"), "--record", path("accepted")]
        with running(ferry, "simulate", *apns) as ports:
            with open(path("identity/gateway.json"), "r+") as file:
                configuration = json.load(file)
                # apns-clerk knows TLS 1.0 only.
                configuration["listen"].update(port=0, legacyTLS=True)
                configuration["listen"].pop("feedbackPort", None)
                configuration["upstreams"] = {
                    "apns": {
                        "to": f"localhost:{ports['http2']}",
                        "ca": path("tls/ca.pem"),
                        "p8": path("tls/token-key.p8"),
                        "keyID": "FERRYKEY01",
                        "teamID": "FERRYTEAM1",
                    }
                }
                configuration.update(rejections=path("rejected"), store={"path": path("gateway.db")})
                file.seek(0)
                json.dump(configuration, file)
                file.truncate()
            with running(ferry, "gateway", "--config", path("identity/gateway.json")) as gateway:
                failed = send(gateway["binary"], path("identity"), tokens)
        isGood = check("accepted by APNs", [line["token"] for line in lines(path("accepted"))], set(tokens) - bad)
        isListed = check("in the list of rejections", [line["token"] for line in lines(path("rejected"))], bad)
    print(f"told by error responses: {len(failed)} of {len(bad)}")
    if not (isGood and isListed and failed <= bad):
        sys.exit(1)


main(os.path.abspath(sys.argv[1]))
