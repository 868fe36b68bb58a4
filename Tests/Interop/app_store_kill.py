"""Kills `ferry appstore serve` under load, again and again, and counts what the application got.

    FERRY_COMMAND=.build/release/ferry python3 Tests/Interop/app_store_kill.py [KILLS [COUNT]]

A simulated App Store, whose clock runs 3,600 times as fast, posts COUNT notifications, a fifth of them twice. Fails unless each
is answered with 200 in the end, the application gets each UUID that was, and it gets a second time at most what was under way at a
kill: 16 for each.
"""

import collections
import http.server
import json
import os
import pathlib
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

FERRY = os.environ["FERRY_COMMAND"]
UNDER_WAY = 16


class Application(http.server.ThreadingHTTPServer):
    """Counts the deliveries of each UUID."""

    daemon_threads = True

    def __init__(self):
        self.deliveries = collections.Counter()
        self.lock = threading.Lock()
        # Another program's receiver may know this port from an earlier use of it.
        self.path = "/" + secrets.token_hex(8)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                if self.path != self.server.path:
                    return self.send_error(404)
                with self.server.lock:
                    self.server.deliveries[self.headers["webhook-id"]] += 1
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        # Connections of a killed process are reset.
        self.handle_error = lambda *_: None
        threading.Thread(target=self.serve_forever, daemon=True).start()


def start(*arguments, log):
    process = subprocess.Popen([FERRY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=log, text=True)
    line = process.stdout.readline()
    assert line, "%s did not start: see %s" % (arguments[0], log.name)
    return process, json.loads(line)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def taken(record):
    """The UUIDs that were answered with 200. A request for consumption that comes again has another UUID."""
    with open(record, encoding="utf-8") as file:
        # The last line may be incomplete.
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    return {line["notificationUUID"] for line in lines if line["status"] == 200}


def main(kills, count):
    application = Application()
    with tempfile.TemporaryDirectory() as name, open(pathlib.Path(name) / "log", "w+", encoding="utf-8") as log:
        folder, port = pathlib.Path(name), free_port()
        record = folder / "record.jsonl"
        secret = folder / "secret.txt"
        secret.touch(mode=0o600)
        secret.write_text("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n", encoding="utf-8")
        app_store, _ = start(
            "simulate", "--app-store", 0, "--app-store-url", f"http://127.0.0.1:{port}/", "--app-store-count", count,
            "--app-store-rate", 400, "--app-store-duplicates", 20, "--app-store-speed", 3600, "--tls-dir", folder / "tls",
            "--record", record, log=log,
        )  # fmt: skip

        def serve():
            return start(
                "appstore", "serve", "--app", "com.example.app:1234567890", "--listen", port, "--plain",
                "--root", folder / "tls/app-store-root.pem", "--store", folder / "store.db",
                "--forward", f"http://127.0.0.1:{application.server_port}{application.path}",
                "--forward-secret-file", secret,
                log=log,
            )[0]  # fmt: skip

        receiver = serve()
        for _ in range(kills):
            time.sleep(random.uniform(0.2, 1.2))
            receiver.send_signal(signal.SIGKILL)
            receiver.wait()
            receiver = serve()
        seen, since = -1, time.monotonic()
        # The App Store comes again for 157 of its hours.
        while (seen < count or taken(record) - application.deliveries.keys()) and time.monotonic() - since < 160:
            if len(taken(record)) != seen:
                seen, since = len(taken(record)), time.monotonic()
            time.sleep(0.5)
        # Second deliveries, if there are some, are due now.
        time.sleep(2)
        for process in (receiver, app_store):
            process.terminate()
            process.wait(60)
        missing = len(taken(record) - application.deliveries.keys())
        twice = sum(count - 1 for count in application.deliveries.values())
        print(f"{kills} kills: {len(taken(record))} of {count} taken, {missing} of them missing, {twice} delivered a second time")
        if len(taken(record)) != count or missing > 0 or twice > kills * UNDER_WAY:
            log.seek(0)
            sys.exit("FAILED\n" + log.read()[-4000:])


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [50, 20_000][len(numbers) :]))
