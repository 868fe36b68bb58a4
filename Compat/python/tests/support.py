"""Simulated servers, and programs that run against them."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = os.path.dirname(HERE)
FERRY = os.environ.get("FERRY_COMMAND", "ferry")
GONE = 1700000000

#: Tokens that begin with `bad0` are refused, those with `909e` belong to devices that are gone.
RULES = {
    "rules": [{"prefix": "bad0", "status": 8}, {"prefix": "909e", "action": "gone", "since": GONE}],
    "http2": {"rules": [{"prefix": "bad0", "status": 400, "reason": "BadDeviceToken"},
                        {"prefix": "909e", "status": 410, "timestamp": GONE * 1000}]},
}


def tokens(count, start=0):
    """Different tokens, all good."""
    return ["%064x" % (0x1000 + start + number) for number in range(count)]


class Simulator(object):
    """`ferry simulate` with both protocols and the feedback service, in a directory of its own."""

    directory = None  # Of the credentials, which are made once.

    def __init__(self, script=RULES):
        if Simulator.directory is None:
            Simulator.directory = tempfile.mkdtemp(prefix="ferry-python-")
        self.home = tempfile.mkdtemp(dir=Simulator.directory)
        self.record = os.path.join(self.home, "record")
        with open(os.path.join(self.home, "script"), "w") as file:
            json.dump(script, file)
        tls = os.path.join(Simulator.directory, "tls")
        self.process = subprocess.Popen(
            [FERRY, "simulate", "--http2", "0", "--binary", "0", "--feedback", "0", "--tls-dir", tls,
             "--script", file.name, "--record", self.record],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.ports = json.loads(self.process.stdout.readline().decode("ascii"))
        self.ca = os.path.join(tls, "ca.pem")
        self.cert = os.path.join(tls, "both.pem")
        if not os.path.exists(self.cert):
            with open(self.cert, "w") as both:
                for name in ("client.pem", "client-key.pem"):
                    with open(os.path.join(tls, name)) as file:
                        both.write(file.read())

    def options(self, backend, **more):
        """Options of Ferry for this simulator."""
        options = {"backend": backend, "host": "localhost", "port": self.ports[backend], "ca": self.ca}
        if backend == "http2":
            options["topic"] = "com.example.ferry"
        options.update(more)
        return options

    def config(self, backend, **more):
        """The path of such a file for FERRY_CONFIG."""
        path = os.path.join(self.home, "config-%s.json" % backend)
        with open(path, "w") as file:
            json.dump(self.options(backend, **more), file)
        return path

    def records(self, count=None):
        """The notifications that arrived. Waits until there are `count`, which takes the simulator up to 0.2 s."""
        end = time.time() + 10
        while True:
            with open(self.record) as file:
                lines = file.read().split("\n")[:-1]
            if count is None or len(lines) >= count or time.time() > end:
                return [json.loads(line) for line in lines]
            time.sleep(0.02)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        # Has all that arrived, after the end.
        return self.records()

    @classmethod
    def clean_up(cls):
        if cls.directory:
            shutil.rmtree(cls.directory)
            cls.directory = None


class Program(object):
    """A Python program in a process of its own, with this Ferry in its search path."""

    def __init__(self, code, *arguments, **environment):
        # Since Python 3.12 each fork() beside a thread warns, and libferry has threads.
        variables = dict(os.environ, PYTHONPATH=MODULES, PYTHONWARNINGS="ignore:This process:DeprecationWarning",
                         **environment)
        self.process = subprocess.Popen(
            [sys.executable] + (["-c", textwrap.dedent(code)] if "\n" in code else [code]) + list(arguments),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables)

    def line(self):
        return self.process.stdout.readline().decode("utf-8").strip()

    def end(self):
        """Returns exit status, standard output as lines, and standard error."""
        output, errors = self.process.communicate()
        return self.process.returncode, output.decode("utf-8").splitlines(), errors.decode("utf-8")


def run(code, *arguments, **environment):
    return Program(code, *arguments, **environment).end()
