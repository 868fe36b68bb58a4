"""Compares what the clients reported with what the server recorded, and prints a table of medians.

Arguments: a directory with the output of each run, RUN.json, and the record of `ferry simulate`.
The exit status is 1 if a client or the server did not count what was sent.
"""
import json
import pathlib
import statistics
import sys
from collections import Counter, defaultdict

RUN_DIGITS = 8

directory, record = map(pathlib.Path, sys.argv[1:])
recorded, tokens = Counter(), set()
with record.open() as lines:
    for line in lines:
        token = line.split('"token":"', 1)[1].split('"', 1)[0]
        recorded[int(token[:RUN_DIGITS], 16)] += 1
        tokens.add(int(token, 16))
distinct = Counter(token >> (64 - RUN_DIGITS) * 4 for token in tokens)

wrong, total = [], 0
groups = defaultdict(list)
for path in sorted(directory.glob("*.json"), key=lambda path: int(path.stem)):
    run = json.loads(path.read_text())
    number, sent = int(path.stem), run["count"] + run["warmUp"]
    total += sent
    name = f"run {number}, {run['client']}, {run['settings']}"
    if run["accepted"] != run["count"]:
        wrong.append(f"{name}: {run['accepted']} of {run['count']} were accepted")
    if not recorded[number] == distinct[number] == sent:
        wrong.append(f"{name}: {sent} sent, the server accepted {recorded[number]} for {distinct[number]} tokens")
    groups[run["client"], run["version"], run["settings"], run["count"]].append(run)


def median(runs, key, form):
    values = [run[key] for run in runs if run[key] is not None]
    return form.format(statistics.median(values)) if values else "–"


print("| client | settings | notifications | a second | lowest to highest | p50 ms | p99 ms | µs of CPU each |")
print("|---|---|---|---|---|---|---|---|")
for (client, version, settings, count), runs in groups.items():
    speeds = [run["perSecond"] for run in runs]
    for run in runs:
        run["cpuEach"] = run["cpuSeconds"] / count * 1e6
    print(
        f"| {client} {version} | {settings} | {len(runs)} × {count:,} | {statistics.median(speeds):,.0f} "
        f"| {min(speeds):,} to {max(speeds):,} | {median(runs, 'p50ms', '{:.2f}')} | {median(runs, 'p99ms', '{:.2f}')} "
        f"| {median(runs, 'cpuEach', '{:,.1f}')} |"
    )
if wrong:
    print(*wrong, sep="\n", file=sys.stderr)
    sys.exit(1)
print(f"\nThe server accepted every notification once: {total:,} in {sum(map(len, groups.values()))} runs.")
