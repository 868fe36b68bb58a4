"""Scrapes of a gateway as series for `promtool test rules`, and the alerts that the rules fire with them.

A scrape stands for a minute of Prometheus' time, whatever time has really passed between two of them:

     before                     during                                        after
    ├─ 5 min of the first ─┼─ ─┼─ ─┼─ ─┼─ the last, or its step again and again ─┼─ ─┼─ 75 min of the last ─┤

No value of a scrape is changed. If a situation goes on, each counter grows on in each minute by its last step, that from the
last scrape but one to the last. Counters of the same process begin the scrapes after it where they then are. Both gauges in the
sums of notifications go on in the same way, because the sums hold for the steps, too.
"""

import json
import pathlib
import re
import subprocess
import time

MONITORING = pathlib.Path(__file__).resolve().parent.parent.parent / "Compat/monitoring"
# The labels that Prometheus adds with the file prometheus.yml.
TARGET = 'instance="127.0.0.1:2199",job="ferry-gateway"'
BEFORE = 5
# An hour is the longest window of a rule.
AFTER = 75
FIRING = 'ALERTS{alertstate="firing"}'
SUM_GAUGES = {"ferry_gateway_waiting_notifications", "ferry_gateway_unanswered_notifications"}


class Fault(Exception):
    """A situation that cannot be made, or whose scrapes make no test."""


class Rules:
    """The files of rules, as far as their text says something."""

    def __init__(self):
        self.files = [MONITORING / "recording.yml", MONITORING / "alerts.yml"]
        texts = [file.read_text() for file in self.files]
        rules = re.split(r"(?m)^ *- alert: ", texts[1])[1:]
        self.alerts = [rule.split("\n")[0] for rule in rules]
        # These compare a time of a scrape with the present one. All others see only how values follow each other.
        self.of_the_clock = {rule.split("\n")[0] for rule in rules if "time()" in rule}
        self.words = set(re.findall(r"[a-z_]+", " ".join(texts)))


class Scrape:
    """The values of an answer of /metrics, by series."""

    def __init__(self, text):
        self.values, self.counters = {}, set()
        kinds = {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                name, kinds[name] = line.split()[2:4]
            elif line and not line.startswith("#"):
                series, value = line.rsplit(" ", 1)
                self.values[series] = float(value)
                name = series.split("{")[0]
                family = re.sub(r"_(bucket|count|sum)$", "", name)
                if kinds.get(name) == "counter" or kinds.get(family) == "histogram" or name in SUM_GAUGES:
                    self.counters.add(series)

    def sum(self, name, **labels):
        """The sum of all series with this name, after `ferry_gateway_`, and these labels."""
        name = f"ferry_gateway_{name}"
        parts = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(
            value for series, value in self.values.items()
            if series.split("{")[0] == name and all(part in series for part in parts)
        )  # fmt: skip

    @property
    def process(self):
        return self.values.get("process_start_time_seconds")


def minutes(scrapes, goes_on, length):
    """The values of each minute; None where the gateway did not answer."""
    before, during, after = scrapes["before"], scrapes["during"], scrapes["after"]
    columns = [scrape and scrape.values for scrape in [before[0]] * BEFORE + before + during]
    last, steps = during[-1], {}
    if goes_on:
        if None in during[-2:]:
            raise Fault("The gateway did not answer.")
        steps = {series: last.values[series] - during[-2].values[series] for series in last.counters}
        falling = [series for series, step in steps.items() if step < 0]
        if falling:
            raise Fault(f"Nothing can go on while counters fall: {falling}")
    for minute in range(1, length + 1):
        columns.append(last and {s: value + minute * steps.get(s, 0) for s, value in last.values.items()})
    end = len(columns)
    for scrape in after + after[-1:] * AFTER:
        isSame = scrape and last and scrape.process == last.process
        columns.append(
            scrape and {s: v + (length * steps.get(s, 0) if isSame else 0) for s, v in scrape.values.items()}
        )
    return columns, end - 1


def notation(values):
    """Writes values as promtool reads them. A series that ends becomes stale, as in Prometheus."""
    words, before = [], None
    for value in values:
        if value is None:
            word = "_" if before is None else "stale"
        else:
            word = str(int(value)) if value == int(value) else repr(value)
        before = value
        if words and words[-1][0] == word != "stale":
            words[-1][1] += 1
        else:
            words.append([word, 1])
    return " ".join(word if count == 1 else f"{word}x{count - (word != '_')}" for word, count in words)


def input_series(columns, words):
    up = [0 if column is None else 1 for column in columns]
    series = [{"series": f"up{{{TARGET}}}", "values": notation(up)}]
    names = sorted({name for column in columns if column for name in column})
    for name in names:
        metric, _, labels = name.partition("{")
        if metric not in words:
            continue
        labels = f"{TARGET},{labels}" if labels else f"{TARGET}}}"
        values = notation([None if column is None else column.get(name) for column in columns])
        series.append({"series": f"{metric}{{{labels}", "values": values})
    return series


class Trial:
    """The rules with the scrapes of one situation."""

    def __init__(self, rules, name, folder):
        self.rules, self.name = rules, name
        self.file = folder / (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".json")

    def run(self, scrapes, fires, goes_on, length):
        """Returns the alerts that fired during the situation, and a sentence for each failed check."""
        columns, end = minutes(scrapes, goes_on, length)
        expected = set(fires)
        of_minutes = expected - self.rules.of_the_clock
        ever = f"count_over_time({FIRING}[{len(columns)}m])"
        checks = [
            (f"group by (alertname) ({FIRING})", f"{end}m", of_minutes, "during the situation"),
            (f"group by (alertname) ({ever})", f"{len(columns) - 1}m", of_minutes, "at some time"),
        ]
        if scrapes["after"]:
            checks.append((f"group by (alertname) ({FIRING})", f"{len(columns) - 1}m", set(), "at the end"))
        fired, faults = self.test("minutes", "1m", input_series(columns, self.rules.words), checks)
        # promtool begins in 1970, so that a minute of this year has an interval of its own: that from 1970 to now.
        last = [scrape for scrape in scrapes["during"] if scrape]
        if last:
            now = f"{int(time.time())}s"
            # Alerts of minutes that have no "for" would fire here, too.
            some = "|".join(sorted(self.rules.of_the_clock))
            expression = f"group by (alertname) ({FIRING[:-1]},alertname=~\"{some}\"}})"
            series = input_series([None, last[-1].values], self.rules.words)
            check = (expression, now, expected & self.rules.of_the_clock, "at the time of the scrape")
            result = self.test("clock", now, series, [check])
            fired, faults = fired | result[0], faults + result[1]
        return fired, faults

    def test(self, kind, interval, series, checks):
        file = self.file.with_suffix(f".{kind}.json")
        test = {
            "name": self.name,
            "interval": interval,
            "input_series": series,
            "promql_expr_test": [
                {
                    "expr": expression,
                    "eval_time": at,
                    "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in sorted(alerts)],
                }
                for expression, at, alerts, _ in checks
            ],
        }
        names = [str(name) for name in self.rules.files]
        file.write_text(json.dumps({"rule_files": names, "evaluation_interval": interval, "tests": [test]}, indent=1))
        run = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, timeout=120)
        if run.returncode == 0:
            return checks[0][2], []
        # A failed check is told with its expression and what it has got.
        output = run.stdout + run.stderr
        got = {}
        for part in re.split(r"\n\s*expr: ", output)[1:]:
            expression = json.loads(part[: part.index(", time:")])
            time_of_check = part.partition("time: ")[2].partition(",")[0]
            got[expression, time_of_check] = set(re.findall(r'alertname="(\w+)"', part.partition("got:")[2]))
        if not got:
            return set(), [f"promtool cannot run {file}: {output.strip()}"]
        faults, fired = [], checks[0][2]
        for number, (expression, at, alerts, when) in enumerate(checks):
            found = [names for (text, t), names in got.items() if text == expression and seconds(t) == seconds(at)]
            if not found:
                continue
            if number == 0:
                fired = found[0]
            faults += [f"{alert} did not fire {when}." for alert in sorted(alerts - found[0])]
            faults += [f"{alert} fired {when}." for alert in sorted(found[0] - alerts)]
        return fired, faults


def seconds(duration):
    """A duration of Prometheus, such as 1h5m."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([smhdwy])", duration))
