"""Drives a real gateway into each situation that an alert names, and tries the rules with what /metrics then says.

Usage: alerts.py FERRY [WORD…]        the situations whose name has one of the words; without words, all
"""

import argparse
import concurrent.futures
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

# Each of these modules adds its situations.
import apns
import clients
import machine
from lab import Lab
from prometheus import Fault, Rules, Trial
from situation import SITUATIONS

TESTS = pathlib.Path(__file__).resolve().parent.parent.parent / ".build/alerts"
# Alerts that no situation here fires. Compat/monitoring/tests/alerts.yml has series for them.
UNREACHED = {
    "FerryGatewaySumBroken": "only a fault of Ferry breaks the sums",
    "FerryGatewayPostgresAway": "it needs PostgreSQL",
    "FerryGatewayShardWithoutOwner": "it needs PostgreSQL",
    "FerryGatewayShardFenced": "it needs PostgreSQL",
    "FerryGatewayClientMisrouted": "it needs PostgreSQL",
    "FerryGatewayFramesNotHandedOver": "it needs PostgreSQL",
    "FerryWorkerQueueOld": "it needs PostgreSQL",
    "FerryWorkerWithoutPostgres": "it needs PostgreSQL",
}
# They tell that the machine is slow. If another program had it for a moment, a second try shows that.
OF_TIME = ("FerryGatewayLoopSlow", "FerryGatewaySlowAnswers", "FerryGatewayCommitSlow")


def once(situation, rules, ferry, library):
    lab = Lab(ferry, library)
    try:
        situation.make(lab)
        trial = Trial(rules, situation.name, TESTS)
        return trial.run(lab.scrapes, situation.alerts, situation.goes_on, situation.minutes)
    except Exception as error:
        if not isinstance(error, Fault):
            traceback.print_exc()
        return set(), [f"It could not be made. {error}"]
    finally:
        lab.close()


def examine(situation, *arguments):
    begin = time.monotonic()
    fired, faults = once(situation, *arguments)
    if faults and all(fault.startswith(OF_TIME) and " fired " in fault for fault in faults):
        fired, faults = once(situation, *arguments)
    words = [
        f"{alert}, because {situation.implies[alert]}" if alert in situation.implies else alert for alert in sorted(fired)
    ]
    print(f"{situation.name} ({time.monotonic() - begin:.0f} s): {'; '.join(words) or 'no alert'}", flush=True)
    for fault in faults:
        print(f"  FAILED: {fault}", flush=True)
    return not faults


def is_complete(rules):
    """Whether each alert has its situation here, or a reason why it has none."""
    named = {alert for situation in SITUATIONS for alert in situation.alerts}
    missing = [alert for alert in rules.alerts if alert not in named and alert not in UNREACHED]
    unknown = (named | set(UNREACHED)) - set(rules.alerts) | named & set(UNREACHED)
    for alert in missing:
        print(f"FAILED: no situation fires {alert}.")
    for alert in sorted(unknown):
        print(f"FAILED: {alert} is no alert, or both reached and not.")
    return not missing and not unknown


def build_library(folder):
    source = pathlib.Path(__file__).resolve().parent / "disk_faults.c"
    library = folder / "disk_faults.so"
    compiler = shutil.which("cc") or "clang"
    subprocess.run([compiler, "-shared", "-fPIC", "-O", "-o", library, source, "-ldl"], check=True, timeout=60)
    return library


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    rules = Rules()
    good = [is_complete(rules)]
    shutil.rmtree(TESTS, ignore_errors=True)
    TESTS.mkdir(parents=True)
    chosen = [s for s in SITUATIONS if not arguments.words or any(word in s.name for word in arguments.words)]
    ferry = str(pathlib.Path(arguments.ferry).resolve())
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(8) as pool:
        rest = (rules, ferry, build_library(pathlib.Path(folder)))
        try:
            # These wait, and need no processor meanwhile.
            waiting = [pool.submit(examine, situation, *rest) for situation in chosen if situation.is_long]
            good += [examine(situation, *rest) for situation in chosen if not situation.is_long]
            good += [future.result() for future in waiting]
        finally:
            # At a signal, the situations of the pool end, too.
            Lab.is_over.set()
    for alert, reason in UNREACHED.items():
        print(f"{alert} is left to Compat/monitoring/tests/alerts.yml: {reason}.")
    print(f"{sum(good)} of {len(good)} checks hold. {TESTS} has the tests.")
    sys.exit(0 if all(good) else 1)


main()
