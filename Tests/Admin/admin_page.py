"""The admin page of `ferry gateway`, seen through Chromium in five situations. `.ci/admin` runs it.

Usage: admin_page.py FERRY [--pictures [MINUTES]]

Each failed check is one sentence at the end, and the exit status is then 1. With `--pictures`, the gateway delivers for
some minutes first, an hour unless given, because the picture on the page shows the last hour. Then three pictures go to
Docs/images.
"""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

from websocket import WebSocketException

from browser import DESKTOP, PHONE, SMALL, Browser
from gateways import CLIENTS, Traffic, Trial

IMAGES = pathlib.Path(__file__).resolve().parents[2] / "Docs/images"
LOOK = (pathlib.Path(__file__).parent / "look.js").read_text()
# The time for a change of rate to be seen.
RATE_LIMIT = 3.0
# The time for a situation to come. Chromium and a gateway may share the machine with a build.
DEADLINE = 60
# The time for all checks. A hang beyond all other deadlines ends here.
WHOLE_LIMIT = 600
PICTURE_BYTES = 200_000
SCHEMES = ["light", "dark"]
TITLES = {"well": "Well", "trouble": "Trouble", "down": "Down"}
READ_RATE = "document.querySelector('[data-b=\"rate.read|r\"]').textContent"
TABLE = "document.querySelector('.wide[aria-labelledby=clients]')"
# The table that has the focus, how far it is scrolled, and its place in view.
STANDING = f"[document.activeElement === {TABLE}, {TABLE}.scrollLeft, {TABLE}.getBoundingClientRect().top]"
REASONS = "document.querySelectorAll('[data-b^=\"refusals.\"]').length"
CLOCK = "document.querySelector('[data-b=\"now|l\"]').textContent"


def ask(page, question):
    """The answer to a question of look.js."""
    return page.evaluate(f"(() => {{ {LOOK}\nreturn {question}; }})()")


def number(text):
    return float(re.sub("[^0-9.]", "", text) or 0)


def numbers(lines):
    """The coordinates of the lines of a picture."""
    return [float(part) for line in lines for part in re.findall(r"[\d.]+", line)]


def masked(text):
    """A text without its figures: they change while one looks."""
    return re.sub(r"[\d\u202f.]+( a (second|minute))?", "#", text)


class Checks:
    """What was seen, and the sentences of what was wrong."""

    def __init__(self):
        self.faults, self.lowest, self.colours, self.texts = [], {}, {}, 0

    def expect(self, is_good, sentence):
        if not is_good and sentence not in self.faults:
            self.faults.append(sentence)
        return is_good

    def examine(self, name, page, url, level, sentence, moving=False):
        """All checks of one situation. While notifications move, figures may differ between two looks."""
        host = url.split("/")[2]
        seen = page.wait(
            f"document.body.dataset.level === '{level}'"
            f" && RegExp({json.dumps(sentence)}).test(document.querySelector('h1').textContent)",
            DEADLINE,
        )
        now = ask(page, "content()")
        if not self.expect(
            seen, f"{name}: after {DEADLINE} s the page is '{now['level']}' and says: {now['sentence']}"
        ):
            return
        self.expect(
            now["title"].startswith(TITLES[level] + ":"), f"{name}: the title of the page is '{now['title']}'."
        )
        self.colours.setdefault(ask(page, "headColour()"), level)
        lowest = min(self.contrasts(name, page, scheme) for scheme in SCHEMES)
        for scheme in SCHEMES:
            self.keyboard(name, page, url, scheme)
        page.scheme("light")
        self.narrow(name, page)
        self.without_scripts(name, page, url, moving)
        self.expect(not page.complaints, f"{name}: the console has '{(page.complaints or [''])[0]}'.")
        strangers = page.strangers(host)
        self.expect(not strangers, f"{name}: the page asks elsewhere than {host}: {', '.join(strangers)}.")
        self.policy(name, page)
        print(f"{name}: {level}, lowest contrast {lowest:.2f}: {now['sentence']}", flush=True)

    def contrasts(self, name, page, scheme):
        page.scheme(scheme)
        found = ask(page, "contrasts()")
        self.expect(len(found) > 30, f"{name}, {scheme}: only {len(found)} visible texts were found.")
        self.texts += len(found)
        low = [text for text in found if text["ratio"] < text["least"]]
        lowest = min(found, key=lambda text: text["ratio"] / text["least"])
        self.expect(
            not low,
            f"{name}, {scheme}: {len(low)} texts or lines have too little contrast, {lowest['ratio']:.2f} to 1 where "
            f"{lowest['least']} is needed: {lowest['name']}.",
        )
        self.lowest[name, scheme] = lowest
        return lowest["ratio"]

    def keyboard(self, name, page, url, scheme):
        """Tab goes through all stops in the order of the document, and each shows that it has the focus."""
        page.scheme(scheme)
        for _ in range(3):
            # A new document: Tab begins at its top.
            page.open(url)
            stops = ask(page, "stops()")
            reached = []
            for _ in range(len(stops) + 1):
                page.press("Tab", 9)
                reached.append(ask(page, "focused()"))
            # A section that came meanwhile may have a stop of its own.
            if len(ask(page, "stops()")) == len(stops):
                break
        where = f"{name}, {scheme}"
        self.expect(len(stops) > 2, f"{where}: the page has only {len(stops)} stops for the keyboard.")
        self.expect(all(stop["tabIndex"] == 0 for stop in stops), f"{where}: a tabindex above 0 changes the order.")
        expected = [stop["name"] for stop in stops]
        found = [focus["name"] if focus else "nothing" for focus in reached]
        if not self.expect(
            [focus and focus["place"] for focus in reached[:-1]] == [stop["place"] for stop in stops],
            f"{where}: Tab goes to {', '.join(found)}, and the order of the document is {', '.join(expected)}.",
        ):
            return
        for stop, focus in zip(stops, reached):
            has_outline = focus["outline"] not in ("none", stop["outline"]) and focus["outlineRatio"] >= 3
            self.expect(
                focus["isInView"] and (has_outline or focus["others"] != stop["others"]),
                f"{where}: {stop['name']} does not show that it has the focus.",
            )
        self.expect(reached[-1] is None, f"{where}: Tab does not leave the page after its last stop.")

    def skip_link(self, name, page, url):
        """The first stop leads behind the head. The next stop after it is a table."""
        page.open(url)
        page.press("Tab", 9)
        texts = ask(page, "contrasts().filter(text => text.name.startsWith('a '))")
        self.expect(
            texts and all(text["ratio"] >= text["least"] for text in texts),
            f"{name}: the link to the figures cannot be read while it has the focus.",
        )
        page.press("Enter", 13)
        page.press("Tab", 9)
        after = page.evaluate("location.hash + ' ' + document.activeElement.className")
        self.expect(after == "#figures wide", f"{name}: the link to the figures leads to '{after}'.")

    def narrow(self, name, page):
        page.size(*PHONE)
        overflow = ask(page, "overflow()")
        page.size(*DESKTOP)
        self.expect(overflow <= 0, f"{name}: on a phone of {PHONE[0]} × {PHONE[1]} the page is {overflow} px too wide.")

    def policy(self, name, page):
        self.expect(page.policies, f"{name}: no document was seen to come.")
        for policy in set(page.policies):
            self.expect("default-src 'none'" in policy, f"The policy does not begin with nothing allowed: {policy}")
            self.expect("unsafe" not in policy, f"The policy allows what is unsafe: {policy}")

    def without_scripts(self, name, page, url, moving):
        """A page without scripts says the same as one with scripts that was looked at before and after it."""
        for _ in range(3):
            birth, before = page.birth, ask(page, "content()")
            plain = page.browser.page(scripts=False)
            plain.open(url)
            without = ask(plain, "content()")
            had_scripts = plain.evaluate("document.getElementById('live').textContent") != "As of"
            complaint = (plain.complaints or [""])[0]
            self.expect(not plain.complaints, f"{name}: without scripts the console has '{complaint}'.")
            plain.close()
            # The page may show an answer that is older than the plain page, but not after its clock has changed twice.
            for _ in range(2):
                shown = page.evaluate(CLOCK)
                page.wait(f"{CLOCK} !== {json.dumps(shown)}", DEADLINE)
            after = ask(page, "content()")
            faults = self.differences(before, without, after, moving)
            if not faults or page.birth == birth and not moving:
                break
        self.expect(not had_scripts, f"{name}: the page ran its script although scripts are off.")
        more = f" There are {len(faults) - 1} more differences." if len(faults) > 1 else ""
        self.expect(not faults, f"{name}: without scripts {(faults or [''])[0]}{more}")

    @staticmethod
    def differences(before, without, after, moving):
        faults = []
        same = masked if moving else str
        for part in ("level", "title", "sentence", "headings", "labels", "tables"):
            look = same if part == "sentence" else str
            if look(without[part]) not in (look(before[part]), look(after[part])):
                faults.append(f"the page has other {part}: {without[part]}, and with them {after[part]}.")
        if sorted(without["values"]) not in (sorted(before["values"]), sorted(after["values"])):
            return [*faults, "the page has other values than with them."]
        # The picture of the last hour changes once in ten seconds. The last digit may be rounded otherwise.
        if before["lines"] == after["lines"] and before["scale"] == after["scale"]:
            plain, drawn = numbers(without["lines"]), numbers(after["lines"])
            is_same = len(plain) == len(drawn) and all(abs(one - other) < 0.2 for one, other in zip(plain, drawn))
            if not is_same or without["scale"] != after["scale"]:
                faults.append("the picture of the last hour differs.")
        for key, text in without["values"].items():
            first, last = before["values"].get(key), after["values"].get(key)
            # A clock has another form without scripts.
            if key.endswith("|l"):
                is_good = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text)
            elif re.search(r"counts\.\w+\|n|\.(accepted|refused)\|n|refusals\.", key):
                is_good = number(first or "0") <= number(text) <= number(last or "0")
            elif moving or first != last:
                is_good = text != ""
            else:
                is_good = text == first
            if not is_good:
                faults.append(f"{key} is '{text}', with them '{first}' and then '{last}'.")
        return faults

    def rate(self, name, page, change, condition):
        """Waits until the page shows a change of rate."""
        began = time.monotonic()
        change()
        is_seen = page.wait(condition, RATE_LIMIT * 4)
        seconds = time.monotonic() - began
        when = f"after {seconds:.1f} s" if is_seen else "never"
        self.expect(is_seen and seconds <= RATE_LIMIT, f"{name}: the page shows it {when}, and has {RATE_LIMIT:g} s.")
        print(f"{name}: the page shows it {when}", flush=True)

    def late(self, name, page, url):
        """A row that the document has not, and the first status has: as if it had come between the two."""
        script = f"addEventListener('DOMContentLoaded', () => {TABLE}.querySelector('tbody tr').remove())"
        added = page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        page.open(url)
        count = f"{TABLE}.querySelectorAll('tbody tr').length"
        seen = page.wait(f"{count} === {len(CLIENTS)}", RATE_LIMIT)
        self.expect(seen, f"{name}: the page has {page.evaluate(count)} clients, and {len(CLIENTS)} are in the status.")
        page.call("Page.removeScriptToEvaluateOnNewDocument", **added)

    def rows(self, name, page, change, condition):
        """Waits for rows that the document has not. Document, focus and scrolling have to stay as they are."""
        page.size(*SMALL)
        page.evaluate(f"{TABLE}.focus(); {TABLE}.scrollLeft = 40; scrollTo(0, 200)")
        birth, before = page.birth, page.evaluate(STANDING)
        change()
        self.expect(page.wait(condition, DEADLINE), f"{name}: after {DEADLINE} s the page has not its new rows.")
        self.expect(page.birth == birth, f"{name}: the page loads itself anew.")
        after = page.evaluate(STANDING)
        # Chromium scrolls on by the height of what comes above, so that the place in view stays.
        is_same = after[:2] == before[:2] and abs(after[2] - before[2]) < 2
        self.expect(is_same, f"{name}: focus, scrolling and place were {before}, and are {after}.")
        page.size(*DESKTOP)
        print(f"{name}: focus, scrolling and place are {after}", flush=True)

    def summary(self):
        (name, scheme), text = min(self.lowest.items(), key=lambda item: item[1]["ratio"] / item[1]["least"])
        print(
            f"{self.texts} texts and lines; the lowest contrast is {text['ratio']:.2f} to 1 where {text['least']} is "
            f"needed: {text['name']} ({name}, {scheme})"
        )
        self.expect(
            len(self.colours) == len(set(self.colours.values())) == len(TITLES),
            f"The head has the colours {self.colours}, and each level needs one of its own.",
        )


def pictures(page, checks):
    """Writes the pictures for the documentation."""
    for file, size, scheme in [
        ("admin-light.png", DESKTOP, "light"), ("admin-dark.png", DESKTOP, "dark"), ("admin-phone.png", PHONE, "light"),
    ]:  # fmt: skip
        page.size(*size)
        page.scheme(scheme)
        page.wait("document.getElementById('live').textContent === 'Live'", DEADLINE)
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.picture(IMAGES / file)
        length = (IMAGES / file).stat().st_size
        checks.expect(length < PICTURE_BYTES, f"{file} has {length} bytes, and {PICTURE_BYTES} are the most.")
    page.size(*DESKTOP)
    page.scheme("light")


def deliver(traffic, minutes):
    """Sends for some minutes as two applications do."""
    varying = [
        threading.Thread(target=sender.vary, args=(minutes, *rates), daemon=True)
        for sender, rates in zip(traffic, [(14, 20), (4, 45)])
    ]
    for thread in varying:
        thread.start()
    for thread in varying:
        thread.join()


def delivering(trial, browser, checks, minutes):
    """A gateway from its start until APNs is away."""
    simulator, upstream = trial.simulator()
    gateway, ports = trial.gateway("gateway", upstream)
    url = f"http://127.0.0.1:{ports['admin']}/"
    traffic = [Traffic(trial.client(client, ports["binary"])) for client in CLIENTS]
    page = browser.page()
    page.open(url)
    try:
        checks.examine("fresh", page, url, "well", r"^Ready: nothing has come yet\. 2 clients may connect\.$")

        def send(*rates):
            for sender, rate in zip(traffic, rates):
                sender.rate = rate

        checks.late("a row behind the page", page, url)
        checks.rows("the first reason", page, lambda: send(14, 6), f"{REASONS} > 0")
        page.open(url)
        send(0, 0)
        page.wait(f"{READ_RATE} === '0.0'", DEADLINE)
        began = time.monotonic()
        checks.rate("notifications after a pause", page, lambda: send(14, 6), f"{READ_RATE} !== '0.0'")
        if minutes:
            # A page that nobody looks at only costs.
            page.open("about:blank")
            deliver(traffic, minutes)
            page.open(url)
            pictures(page, checks)
            began = time.monotonic()
            send(14, 6)
        # The rate on the page is that since its last change, for 10 to 20 s at most. After them it is steady.
        time.sleep(max(0, began + 22 - time.monotonic()))
        # The next checks compare looks at the page, so its rows have to be complete.
        page.open(url)
        page.wait(f"{REASONS} === 2", DEADLINE)
        checks.examine(
            "delivering", page, url, "well", r"^Delivering: .* come in, and .* are accepted\.$", moving=True
        )
        checks.skip_link("delivering", page, url)
        base = number(page.evaluate(READ_RATE))
        checks.expect(10 <= base <= 30, f"At 20 notifications a second the page says {base}.")
        # The figure wavers by less than a fifth.
        grown = f"Number({READ_RATE}.replace(/\\D/g, '')) > {0.8 * 400}"
        checks.rate("twenty times as many", page, lambda: send(280, 120), grown)
        send(0, 0)
        checks.examine("paused", page, url, "well", r"^Ready: nothing comes at the moment")
        send(14, 6)
        page.wait(f"{READ_RATE} !== '0.0'", DEADLINE)
        trial.stop(simulator)
        checks.examine(
            "APNs away", page, url, "down",
            r"^Not delivering to apns.* Connection refused.* \d+ notifications wait in the store\.$", moving=True,
        )  # fmt: skip
        # The page has to say that its figures are old. Its requests fail, and the console may say so.
        send(0, 0)
        trial.stop(gateway)
        page.wait("/^No answer for /.test(document.querySelector('h1').textContent)", DEADLINE / 6)
        silent = ask(page, "content()")
        checks.expect(
            silent["level"] == "down" and all(silent[part].startswith("No answer") for part in ("title", "sentence")),
            f"The page of a gateway that has ended is '{silent['level']}', has the title '{silent['title']}', and says: "
            f"{silent['sentence']}",
        )
    finally:
        for sender in traffic:
            sender.end()
    page.close()


def refused(trial, browser, checks, upstream):
    """A gateway whose key APNs does not know."""
    _, ports = trial.gateway("refused", upstream, p8=trial.other_key())
    url = f"http://127.0.0.1:{ports['admin']}/"
    page = browser.page()
    page.open(url)
    sender = Traffic(trial.client("shop", ports["binary"]))
    try:
        sender.rate = 2
        checks.examine(
            "key refused", page, url, "down",
            r"^Not delivering: apns refuses com\.example\.shop: InvalidProviderToken\. ", moving=True,
        )  # fmt: skip
    finally:
        sender.end()
    page.close()


def ending(trial, browser, checks, upstream):
    """A gateway whose certificate ends in nine days."""
    _, ports = trial.gateway("ending", upstream, listen=trial.certificate(9))
    url = f"http://127.0.0.1:{ports['admin']}/"
    page = browser.page()
    page.open(url)
    checks.examine(
        "certificate ends", page, url, "trouble", r"^The certificate .*short\.pem \('listen\.cert'\) ends in 9 days\. "
    )
    page.close()


def end(*_):
    raise TimeoutError("The checks were ended before they were through.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("--pictures", nargs="?", type=float, const=60, default=0, metavar="MINUTES")
    arguments = parser.parse_args()
    for sent in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(sent, end)
    signal.alarm(WHOLE_LIMIT + int(arguments.pictures * 60))
    checks = Checks()
    try:
        with Trial(arguments.ferry) as trial:
            browser = None
            try:
                browser = Browser(trial.directory)
                trial.identities()
                delivering(trial, browser, checks, arguments.pictures)
                _, upstream = trial.simulator()
                refused(trial, browser, checks, upstream)
                ending(trial, browser, checks, upstream)
                checks.summary()
            finally:
                # A page that does not load is the effect of a gateway that is gone.
                checks.faults += trial.lost()
                if browser:
                    browser.end()
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError, WebSocketException) as error:
        checks.faults.append(f"The checks could not go on: {error}")
    for fault in checks.faults:
        print(fault)
    print(f"Failed checks: {len(checks.faults)}" if checks.faults else "The admin page has every property.")
    sys.exit(1 if checks.faults else 0)


main()
