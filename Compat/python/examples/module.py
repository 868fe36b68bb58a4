#!/usr/bin/env python
"""Sends one notification to each device token on standard input, and prints one line for each outcome.

printf '00ff\\nbad0\\n' | python module.py '{"backend": "echo"}'
"""
import binascii
import json
import sys

import ferry

if len(sys.argv) != 2:
    sys.exit("usage: module.py OPTIONS < tokens")

payload = json.dumps({"aps": {"alert": "Hello"}}).encode("utf-8")
notifications = [
    ferry.Notification(tag, binascii.unhexlify(token), payload, priority=10, push_type=ferry.PUSH_TYPES["alert"])
    for tag, token in enumerate(sys.stdin.read().split())
]

provider = ferry.Provider(json.loads(sys.argv[1]))
batch = ferry.Batch(notifications)
unsettled = len(batch)
while unsettled:
    # Takes as much as there is room for.
    provider.submit(batch)
    provider.wait(1)
    for outcome in provider.read():
        print("%d %s" % (outcome.tag, outcome))
        unsettled -= 1
provider.close()
