"""Sends one notification in one call: send.py TOKEN OPTIONS. OPTIONS is JSON."""
import json
import sys

import ferry_apns

print(ferry_apns.push(sys.argv[1], {"aps": {"alert": "Hello"}}, json.loads(sys.argv[2])))
