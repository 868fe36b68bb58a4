"""Chromium, driven through its DevTools port. Every wait has a deadline."""

import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.parse

import websocket

# A busy machine needs seconds for what takes milliseconds. The deadline only ends a wait that hangs.
DEADLINE = 60
OPTIONS = [
    "--headless=new", "--remote-debugging-port=0", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-extensions", "--disable-sync", "--disable-background-networking", "--disable-component-update",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--force-device-scale-factor=1",
    # Only the gateway's host has a name. Another request is seen and fails, and reaches nobody.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]  # fmt: skip
DESKTOP = (1120, 800)
PHONE = (360, 780)
# A window in which the page and its tables scroll.
SMALL = (700, 500)


class Browser:
    """One Chromium with a profile in a directory of the caller, who removes it."""

    def __init__(self, directory):
        profile = pathlib.Path(directory) / "chromium"
        profile.mkdir()
        # The sandbox of Chromium does not run as root, and containers have no room for its shared memory.
        options = OPTIONS + (["--no-sandbox"] if os.getuid() == 0 else []) + ["--disable-dev-shm-usage"]
        program = shutil.which("chromium") or "chromium"
        # A group of its own: Chromium has many processes, and they end together.
        self.process = subprocess.Popen(
            [program, *options, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self.number = 0
        self.pages = {}
        try:
            port, path = self.place(profile / "DevToolsActivePort")
            self.socket = websocket.create_connection(
                f"ws://127.0.0.1:{port}{path}", timeout=DEADLINE, suppress_origin=True
            )
        except BaseException:
            self.end()
            raise

    def place(self, file):
        """The port and the path of DevTools, which Chromium writes into its profile."""
        limit = time.monotonic() + DEADLINE
        while time.monotonic() < limit and self.process.poll() is None:
            lines = file.read_text().split("\n") if file.exists() else []
            if len(lines) > 1:
                return lines[0], lines[1]
            time.sleep(0.05)
        raise TimeoutError(f"Chromium did not open its DevTools port within {DEADLINE} s.")

    def page(self, scripts=True):
        """A new page. Without scripts it runs none of its own; DevTools still can."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, target, session, scripts)

    def call(self, method, session=None, **parameters):
        """Sends a command, and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        self.socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        limit = time.monotonic() + DEADLINE
        while time.monotonic() < limit:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if page := self.pages.get(answer.get("sessionId")):
                page.hear(answer.get("method"), answer.get("params", {}))
        raise TimeoutError(f"{method} did not end within {DEADLINE} s.")

    def end(self):
        for sent in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sent)
                self.process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass


class Page:
    """One page, with the requests and the complaints that it has made."""

    def __init__(self, browser, target, session, scripts):
        self.browser, self.target, self.session = browser, target, session
        self.requests, self.complaints, self.policies = [], [], []
        browser.pages[session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        # A page that is not in front has no focus otherwise.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.size(*DESKTOP)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def hear(self, event, parameters):
        if event == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif event == "Network.webSocketCreated":
            self.requests.append(parameters["url"])
        elif event == "Network.responseReceived" and parameters["type"] == "Document":
            headers = parameters["response"]["headers"].items()
            self.policies.append("".join(value for name, value in headers if name.lower() == "content-security-policy"))
        elif event == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(part.get("value", part)) for part in parameters["args"]))
        elif event == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"]["text"])

    def open(self, url):
        """Opens a page, and waits until it is loaded."""
        self.call("Page.navigate", url=url)
        if not self.wait(f"document.readyState === 'complete' && location.href === {url!r}", DEADLINE):
            raise TimeoutError(f"The page did not load within {DEADLINE} s.")

    def evaluate(self, script):
        """The value of a script, which may be a promise. A page that loads itself anew is asked again."""
        for attempt in range(5):
            try:
                result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
                if "exceptionDetails" not in result:
                    return result["result"].get("value")
                fault = result["exceptionDetails"].get("exception", {}).get("description", "A script failed.")
            except RuntimeError as error:
                fault = str(error)
            time.sleep(0.2)
        raise RuntimeError(fault)

    def wait(self, condition, seconds):
        """Waits until a script gives something true, and returns that; None after the time."""
        limit = time.monotonic() + seconds
        while True:
            if value := self.evaluate(condition):
                return value
            if time.monotonic() > limit:
                return None
            time.sleep(0.05)

    @property
    def birth(self):
        """When the present document began. Another value means that the page was loaded anew."""
        return self.evaluate("performance.timeOrigin")

    def size(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def press(self, key, code):
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            parameters = text if kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **parameters)

    def picture(self, file):
        """Writes the whole page as PNG."""
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, optimizeForSpeed=False)
        file.write_bytes(base64.b64decode(image["data"]))

    def strangers(self, host):
        """The requests to elsewhere than the host with its port. A data URL goes nowhere."""
        places = [urllib.parse.urlsplit(url) for url in self.requests]
        return sorted({p.geturl() for p in places if p.scheme != "data" and (p.scheme, p.netloc) != ("http", host)})

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
        del self.browser.pages[self.session]
