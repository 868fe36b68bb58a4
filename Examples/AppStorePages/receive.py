#!/usr/bin/env python3
"""Receives App Store notifications that `ferry appstore serve --forward` sends: plain JSON, with a signature of your secret.

Run it for a try: APPSTORE_SECRET=$(cat secret.txt) python3 receive.py 8080
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import time

# The secret is whsec_ and Base64. Without one, everybody could sign. During a change of secrets the first line is the new one.
SECRET = os.environ.get("APPSTORE_SECRET", "").partition("\n")[0].strip()
KEY = base64.b64decode(SECRET[len("whsec_"):]) if SECRET.startswith("whsec_") else b""
if len(KEY) < 24:
    sys.exit("APPSTORE_SECRET holds no secret: whsec_ and Base64.")


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204 if self.is_signed(body) and self.handle_notification(json.loads(body)) else 403)
        self.send_header("content-length", "0")
        self.end_headers()

    def is_signed(self, body):
        identifier, seconds = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        # An old request is refused, so that nobody can send it again later.
        if not identifier or not seconds or abs(time.time() - int(seconds)) > 300:
            return False
        message = f"{identifier}.{seconds}.".encode() + body
        expected = "v1," + base64.b64encode(hmac.digest(KEY, message, hashlib.sha256)).decode()
        return any(hmac.compare_digest(expected, each) for each in self.headers["webhook-signature"].split())

    def handle_notification(self, notification):
        # Here your application stores what it needs, with the UUID as the key: a notification may come twice.
        transaction = notification.get("data", {}).get("transactionInfo", {})
        print(notification["notificationUUID"], notification["notificationType"], transaction.get("originalTransactionId", ""))
        return True


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
