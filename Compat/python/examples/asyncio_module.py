#!/usr/bin/env python3
"""As module.py, in an event loop of asyncio."""
import asyncio
import binascii
import json
import sys

import ferry
from ferry_apns import aio


async def main(options, tokens):
    provider = aio.AsyncProvider(options)
    payload = json.dumps({"aps": {"alert": "Hello"}}).encode()
    outcomes = await asyncio.gather(*[
        provider.send(ferry.Notification(0, binascii.unhexlify(token), payload, priority=10)) for token in tokens
    ])
    for number, outcome in enumerate(outcomes):
        print(number, outcome)
    await provider.close()


if len(sys.argv) != 2:
    sys.exit("usage: asyncio_module.py OPTIONS < tokens")
loop = asyncio.new_event_loop()
loop.run_until_complete(main(json.loads(sys.argv[1]), sys.stdin.read().split()))
loop.close()
