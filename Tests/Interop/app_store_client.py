"""Apple's own client reads the API of the simulated App Store: a history of 10,000, and a test notification.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install app-store-server-library==3.1.2
    FERRY_COMMAND=.build/release/ferry /tmp/venv/bin/python Tests/Interop/app_store_client.py [COUNT]

The first notifications find no receiver. Fails unless Apple's client sees each notification once, Apple's library verifies it, the
store has it after `ferry appstore recover`, and the test notification arrives.
"""

import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from appstoreserverlibrary.api_client import APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.SendAttemptResult import SendAttemptResult
from appstoreserverlibrary.models.TransactionHistoryRequest import TransactionHistoryRequest
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

BUNDLE_ID = "com.example.app"
APP_APPLE_ID = 1234567890
KEY_ID, ISSUER_ID = "FERRYKEY01", "FERRYTEAM1"
FERRY = os.environ["FERRY_COMMAND"]


class Process:
    """A command that prints its ports as one JSON line."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([FERRY, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
        self.ports = json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def stored(store):
    """Returns the UUIDs of the store."""
    uuids, before = [], []
    while True:
        lines = subprocess.run(
            [FERRY, "appstore", "list", "--store", store, "--limit", "10000", *before],
            check=True, capture_output=True, text=True,
        ).stdout.splitlines()
        if not lines:
            return uuids
        page = [json.loads(line) for line in lines]
        uuids += [notification["uuid"] for notification in page]
        before = ["--before", str(page[-1]["number"])]


def retried(call, *arguments):
    """Calls until the rate allows it."""
    while True:
        try:
            return call(*arguments)
        except APIException as error:
            if error.http_status_code != 429:
                raise
            time.sleep(0.2)


def history(client, start, only_failures=None):
    """Returns the signed payloads of all pages, and the number of pages."""
    request = NotificationHistoryRequest(startDate=start, endDate=int(time.time() * 1000), onlyFailures=only_failures)
    payloads, token, pages = [], None, 0
    while True:
        page = retried(client.get_notification_history, token, request)
        pages += 1
        payloads += [item.signedPayload for item in page.notificationHistory]
        if not page.hasMore:
            return payloads, pages
        token = page.paginationToken


def main(count):
    start = int(time.time() * 1000) - 1000
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tls, store, port = folder / "tls", folder / "store.db", free_port()
        with Process(
            "simulate", "--app-store", 0, "--app-store-url", f"http://127.0.0.1:{port}/", "--app-store-count", count,
            "--app-store-rate", 1000, "--tls-dir", tls,
        ) as app_store, Process(
            "appstore", "serve", "--app", f"{BUNDLE_ID}:{APP_APPLE_ID}", "--listen", port, "--plain",
            "--root", tls / "app-store-root.pem", "--store", store,
        ):
            os.environ["REQUESTS_CA_BUNDLE"] = str(tls / "ca.pem")
            key = (tls / "token-key.p8").read_bytes()
            client = AppStoreServerAPIClient(key, KEY_ID, ISSUER_ID, BUNDLE_ID, Environment.LOCAL_TESTING)
            api = f"https://localhost:{app_store.ports['appStore']}"
            client._base_url = api
            root = ssl.PEM_cert_to_DER_cert((tls / "app-store-root.pem").read_text())
            verifier = SignedDataVerifier([root], False, Environment.PRODUCTION, BUNDLE_ID, APP_APPLE_ID)

            while True:
                began = time.time()
                payloads, pages = history(client, start)
                if len(payloads) >= count:
                    break
            seconds = time.time() - began
            seen = [verifier.verify_and_decode_notification(payload).notificationUUID for payload in payloads]
            print(f"history: {len(seen)} on {pages} pages in {seconds:.1f} s, {len(set(seen))} of them different")
            assert len(set(seen)) == len(seen) == count
            failures, _ = history(client, start, only_failures=True)
            missed = {verifier.verify_and_decode_notification(payload).notificationUUID for payload in failures}
            uuids = stored(store)
            print(f"stored: {len(uuids)}, failures in the history: {len(missed)}")
            assert sorted(missed | set(uuids)) == sorted(seen) and not missed & set(uuids)
            report = subprocess.run(
                [FERRY, "appstore", "recover", "--since", time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86400))]
                + ["--app", BUNDLE_ID, "--environment", "production", "--p8", tls / "token-key.p8", "--key-id", KEY_ID]
                + ["--issuer-id", ISSUER_ID, "--root", tls / "app-store-root.pem", "--api", api, "--ca", tls / "ca.pem"]
                + ["--store", store],
                check=True, capture_output=True, text=True,
            ).stdout
            print(f"recovered: {report.strip()}")
            assert sorted(stored(store)) == sorted(seen)

            token = client.request_test_notification().testNotificationToken
            for _ in range(100):
                try:
                    status = retried(client.get_test_notification_status, token)
                    if status.sendAttempts:
                        break
                except APIException as error:
                    assert error.http_status_code == 404, error
                time.sleep(0.2)
            attempts = [attempt.sendAttemptResult for attempt in status.sendAttempts]
            test = verifier.verify_and_decode_notification(status.signedPayload)
            print(f"test notification: {test.notificationType}, {attempts}")
            assert attempts[-1] == SendAttemptResult.SUCCESS, attempts
            assert test.notificationUUID in stored(store), "the test notification was not stored"

            transaction = next(
                info.originalTransactionId
                for payload in payloads
                if (data := verifier.verify_and_decode_notification(payload).data) and data.signedTransactionInfo
                for info in [verifier.verify_and_decode_signed_transaction(data.signedTransactionInfo)]
            )
            statuses = client.get_all_subscription_statuses(transaction)
            purchases = client.get_transaction_history(
                transaction, None, TransactionHistoryRequest(), GetTransactionHistoryVersion.V2
            )
            print(f"statuses: {len(statuses.data)}, transactions: {len(purchases.signedTransactions)}")
            for text in purchases.signedTransactions:
                verifier.verify_and_decode_signed_transaction(text)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
