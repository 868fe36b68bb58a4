#!/usr/bin/env python
"""A program for PyAPNs, as PyAPNs documents it: sends to each device token of a file, and prints the refused ones.

TOKENS=tokens.txt CERT=push.pem python pyapns.py             one notification for each line of the file
CERT=push.pem python pyapns.py feedback                      the devices that are gone
"""
import calendar
import json
import os
import sys
import time

from apns import APNs, Payload

CERT = os.environ["CERT"]


def show(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def send():
    with open(os.environ["TOKENS"]) as file:
        tokens = file.read().split()

    def response_listener(error_response):
        show(token=tokens[error_response["identifier"]], status=error_response["status"])

    apns = APNs(use_sandbox=True, cert_file=CERT, enhanced=True)
    apns.gateway_server.register_response_listener(response_listener)
    payload = Payload(alert="Hello", sound="default", badge=1)
    for identifier, token in enumerate(tokens):
        apns.gateway_server.send_notification(token, payload, identifier=identifier, expiry=time.time() + 3600)


def feedback():
    apns = APNs(use_sandbox=True, cert_file=CERT)
    for token_hex, fail_time in apns.feedback_server.items():
        show(token=token_hex.decode("ascii"), time=calendar.timegm(fail_time.timetuple()))


if sys.argv[1:] == ["feedback"]:
    feedback()
else:
    send()
