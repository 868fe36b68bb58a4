"""One process with two OpenSSLs: HTTPS by Python's own, pushes by libferry's.

    both.py '{"first": "https" or "push", "url": URL, "ca": FILE, "options": OPTIONS, "tokens": LIST, "last": LIST}'

Both in the given order, twice; HTTPS in a forked child; then exit with status 7, with pushes to `last` under way.
"""
import binascii
import json
import os
import ssl
import sys

try:
    from urllib.request import urlopen
except ImportError:
    from urllib2 import urlopen

import ferry_apns

plan = json.loads(sys.argv[1])
context = ssl.create_default_context(cafile=plan["ca"])


def https():
    if urlopen(plan["url"], context=context, timeout=30).read() != b"hello\n":
        sys.exit("HTTPS brought something else.")


def push():
    for answer in ferry_apns.push(plan["tokens"], {"aps": {}}, plan["options"]):
        if not answer.accepted:
            sys.exit(str(answer))


for _ in range(2):
    for step in (https, push) if plan["first"] == "https" else (push, https):
        step()
child = os.fork()
if child == 0:
    https()
    sys.exit(0)
if os.waitpid(child, 0)[1] != 0:
    sys.exit("The child failed.")
provider = ferry_apns.Provider(plan["options"])
batch = ferry_apns.Batch([ferry_apns.Notification(tag, binascii.unhexlify(token), b'{"aps":{}}')
                          for tag, token in enumerate(plan["last"])])
if provider.submit(batch) != len(plan["last"]):
    sys.exit("libferry took less than all.")
sys.exit(7)
