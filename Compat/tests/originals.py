#!/usr/bin/env python3
"""Runs programs that were written for old client libraries, with the drop-ins of Ferry in their place, and counts.

    originals.py [PROGRAM…]     all programs, or those whose path contains one of the words

Each program sends 2,000 notifications, nine of them to bad device tokens and five to devices that are gone: over HTTP/2 and
over the binary protocol. What the simulated servers accepted is compared with what the program was told. Nothing may be lost
or doubled, and each rejection that the original library could tell must be told once, with the right device token.

Environment: FERRY_LIBRARY (libferry.so.0) and FERRY_COMMAND (the command ferry).
"""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

COMPAT = pathlib.Path(__file__).resolve().parent.parent
COUNT = 2000
BAD, GONE = 9, 5
LIMIT = 120

# How a program starts, and whether its library could tell a rejection and read the feedback list.
Program = collections.namedtuple("Program", "path command environment tells feedback")


def program(path, *command, tells=True, feedback=True, **environment):
    return Program(path, command, environment, tells, feedback)


PHP = ["php", "-d", "ffi.enable=1", "-d", "include_path=%s" % (COMPAT / "php")]
PROGRAMS = [
    program("python/examples/pyapns.py", sys.executable, PYTHONPATH="python"),
    program("ruby/examples/houston.rb", "ruby", RUBYLIB="ruby/lib"),
    program("ruby/examples/grocer.rb", "ruby", tells=False, RUBYLIB="ruby/lib"),
    program("php/examples/apnsphp.php", *PHP),
    program("php/examples/apnsphp-server.php", *PHP, feedback=False),
    program("node/examples/apn.js", "node", NODE_PATH="node"),
    program("perl/examples/net-apns.pl", "perl", tells=False, feedback=False, PERL5LIB="perl/lib"),
    program("perl/examples/net-apns-extended.pl", "perl", PERL5LIB="perl/lib"),
    program("perl/examples/anyevent-apns.pl", "perl", feedback=False, PERL5LIB="perl/lib"),
]


def tokens():
    """The device tokens in the order of sending."""
    every = COUNT // BAD
    result = []
    for number in range(COUNT):
        prefix = "00fc"
        if number % every == every // 2 and number // every < BAD:
            prefix = "bad0"
        elif number % 400 == 123:
            prefix = "909e"
        result.append(prefix + "%060x" % number)
    return result


class Simulator:
    """`ferry simulate` in a folder of its own."""

    def __init__(self, folder, answer_delay=0):
        self.folder = folder
        script = {
            "errorDelaySeconds": 0.05,
            "rules": [{"prefix": "bad0", "status": 8}, {"prefix": "909e", "action": "gone"}],
            "http2": {
                "answerDelaySeconds": answer_delay,
                "rules": [
                    {"prefix": "bad0", "status": 400, "reason": "BadDeviceToken"},
                    {"prefix": "909e", "status": 410, "reason": "Unregistered"},
                ],
            },
        }
        (folder / "script.json").write_text(json.dumps(script))
        self.process = subprocess.Popen(
            [os.environ["FERRY_COMMAND"], "simulate", "--binary", "0", "--feedback", "0", "--http2", "0"]
            + ["--tls-dir", folder / "tls", "--script", folder / "script.json", "--record", folder / "record.jsonl"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.ports = json.loads(self.process.stdout.readline())

    def config(self, backend):
        """What FERRY_CONFIG says: the simulated servers instead of Apple's."""
        ca = str(self.folder / "tls/ca.pem")
        config = {"backend": backend, "host": "localhost", "port": self.ports[backend], "ca": ca}
        if backend == "http2":
            config["feedback"] = str(self.folder / "gone.jsonl")
        else:
            config["feedbackPort"] = self.ports["feedback"]
        return config

    def stop(self):
        """Stops the servers, and returns how often each device token was accepted."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        with open(self.folder / "record.jsonl") as record:
            return collections.Counter(json.loads(line)["token"] for line in record)


def lines(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def run(program, backend, answer_delay=0):
    """Returns what was found wrong, and a summary."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        simulator = Simulator(folder, answer_delay)
        accepted = None
        try:
            certificate = folder / "client-all.pem"
            certificate.write_text((folder / "tls/client.pem").read_text() + (folder / "tls/client-key.pem").read_text())
            (folder / "tokens").write_text("".join(token + "\n" for token in tokens()))
            (folder / "ferry.json").write_text(json.dumps(simulator.config(backend)))
            environment = dict(os.environ, FERRY_CONFIG=str(folder / "ferry.json"))
            environment.update(CERT=str(certificate), TOKENS=str(folder / "tokens"))
            environment.update((name, str(COMPAT / path)) for name, path in program.environment.items())
            command = [*program.command, str(COMPAT / program.path)]
            start = time.monotonic()
            sending = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, cwd=folder)
            seconds = time.monotonic() - start
            reading = None
            if program.feedback:
                reading = subprocess.run(
                    command + ["feedback"], env=environment, capture_output=True, text=True, timeout=LIMIT, cwd=folder
                )
        finally:
            accepted = simulator.stop()
        return judge(program, backend, accepted, sending, reading, seconds)


def judge(program, backend, accepted, sending, reading, seconds):
    faults = []
    sent = tokens()
    gone = [token for token in sent if token.startswith("909e")]
    bad = [token for token in sent if token.startswith("bad0")]
    wanted = [token for token in sent if token not in bad and (backend == "binary" or token not in gone)]
    lost = [token for token in wanted if accepted[token] == 0]
    doubled = [token for token in wanted if accepted[token] > 1]
    told = lines(sending.stdout)
    right = collections.Counter((token, 8) for token in bad) if program.tells else collections.Counter()
    found = collections.Counter((line["token"].lower(), line["status"]) for line in told)
    if sending.returncode != 0:
        faults.append("exit status %d: %s" % (sending.returncode, sending.stderr[-400:]))
    if lost:
        faults.append("%d lost, the first is number %d" % (len(lost), sent.index(lost[0])))
    if doubled:
        faults.append("%d doubled, the first is number %d" % (len(doubled), sent.index(doubled[0])))
    if found != right:
        faults.append("told: %s; not told: %s" % (list((found - right).items())[:3], list((right - found).items())[:3]))
    summary = "lost %d, doubled %d, rejections told %d of %d" % (len(lost), len(doubled), len(told), sum(right.values()))
    if reading is not None:
        listed = lines(reading.stdout)
        summary += ", feedback %d of %d" % (len(listed), len(gone))
        if reading.returncode != 0:
            faults.append("feedback: exit status %d: %s" % (reading.returncode, reading.stderr[-400:]))
        if sorted(line["token"].lower() for line in listed) != sorted(gone):
            faults.append("feedback: %s" % listed[:3])
        if any(abs(line["time"] - time.time()) > 3600 for line in listed):
            faults.append("feedback: a time is wrong: %s" % listed[:1])
    return faults, "%s, %.1f s" % (summary, seconds)


def main():
    words = sys.argv[1:]
    passed = failed = 0
    for program in PROGRAMS:
        if words and not any(word in program.path for word in words):
            continue
        for title, backend, delay in [("HTTP/2", "http2", 0), ("binary", "binary", 0), ("HTTP/2, 50 ms away", "http2", 0.05)]:
            try:
                faults, summary = run(program, backend, delay)
            except subprocess.TimeoutExpired as error:
                faults, summary = ["it did not end within %d s: %s" % (LIMIT, (error.stderr or b"")[-400:])], "no end"
            print("%-36s %-20s %s" % (program.path, title, summary))
            for fault in faults:
                print("    " + fault)
            passed, failed = passed + (not faults), failed + bool(faults)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
