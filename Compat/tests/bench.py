#!/usr/bin/env python3
"""Compares the rates of the modules with that of C, in alternating runs against one simulated server in another process.

    bench.py [--rounds N] [--count N] [LANGUAGE…]

Prints notifications per second, the median of the rounds, and the part of C's. Environment: FERRY_LIBRARY, FERRY_COMMAND.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

COMPAT = pathlib.Path(__file__).resolve().parent.parent
LANGUAGES = {
    "python": ["python3", COMPAT / "python/bench"],
    "ruby": ["ruby", COMPAT / "ruby/bench"],
    "php": ["php", "-d", "ffi.enable=1", COMPAT / "php/bench"],
    "node": ["node", COMPAT / "node/bench"],
    "perl": ["perl", COMPAT / "perl/bench"],
}


def build(folder):
    """Compiles the program in C, and returns its path."""
    prefix = pathlib.Path(os.environ["FERRY_LIBRARY"]).parent.parent
    program = folder / "bench"
    subprocess.run(
        ["cc", "-O2", COMPAT / "C/bench.c", "-I", prefix / "include", "-L", prefix / "lib", "-lferry"]
        + ["-Wl,-rpath,%s" % (prefix / "lib"), "-o", program],
        check=True,
    )
    return program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=400_000)
    parser.add_argument("languages", nargs="*", choices=[*LANGUAGES, []])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = {"C": [build(folder)]}
        programs.update((language, LANGUAGES[language]) for language in arguments.languages or LANGUAGES)
        simulator = subprocess.Popen(
            [os.environ["FERRY_COMMAND"], "simulate", "--http2", "0", "--binary", "0", "--tls-dir", folder / "tls"],
            stdout=subprocess.PIPE,
        )
        try:
            ports = json.loads(simulator.stdout.readline())
            for backend in ["http2", "binary"]:
                compare(programs, backend, options(backend, ports, folder), arguments)
        finally:
            simulator.terminate()
            simulator.wait()


def options(backend, ports, folder):
    tls = folder / "tls"
    result = {"backend": backend, "host": "localhost", "port": ports[backend], "ca": str(tls / "ca.pem")}
    result.update(cert=str(tls / "client.pem"), key=str(tls / "client-key.pem"))
    if backend == "http2":
        result["topic"] = "com.example.ferry"
    else:
        # Silence of this length means acceptance: with the default of 1 s the wait would be measured.
        result["settleTime"] = 0.05
        result["cacheLimit"] = 1_000_000
    return json.dumps(result)


def compare(programs, backend, options, arguments):
    rates = {name: [] for name in programs}
    for _ in range(arguments.rounds):
        for name, command in programs.items():
            output = subprocess.run(
                [*command, options, str(arguments.count)], check=True, capture_output=True, text=True
            ).stdout
            rates[name].append(json.loads(output)["perSecond"])
    of_c = statistics.median(rates["C"])
    for name, values in rates.items():
        rate = statistics.median(values)
        print("%-7s %-7s %10.0f/s  %.2f of C   (%s)" % (backend, name, rate, rate / of_c, ", ".join("%.0f" % v for v in values)))


if __name__ == "__main__":
    main()
