"""Sends with aioapns."""
import asyncio
import itertools
import ssl
import time
from importlib.metadata import version

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol

import contract


async def send(client, numbers, latencies):
    """Sends one notification after the other, and returns how many were accepted."""
    accepted = 0
    for number in numbers:
        start = time.perf_counter()
        result = await client.send_notification(
            NotificationRequest(contract.token(number), {"aps": {"alert": "Hello"}}, push_type=PushType.ALERT)
        )
        latencies.append(time.perf_counter() - start)
        accepted += result.is_successful
    return accepted


async def main(found):
    # aioapns has no option for the server.
    APNsProductionClientProtocol.APNS_SERVER = contract.HOST
    APNsProductionClientProtocol.APNS_PORT = contract.PORT
    with open(contract.KEY) as file:
        client = APNs(
            key=file.read(),
            key_id=contract.KEY_ID,
            team_id=contract.TEAM_ID,
            topic=contract.TOPIC,
            ssl_context=ssl.create_default_context(cafile=contract.CA),
        )
    numbers = iter(range(contract.WARM_UP + contract.COUNT))
    # One at a time: tasks that wait for the first connection would stay behind those that come later.
    await send(client, itertools.islice(numbers, contract.WARM_UP), [])

    latencies = []
    clock = contract.Clock()
    # The tasks take their numbers from one iterator.
    accepted = sum(await asyncio.gather(*(send(client, numbers, latencies) for _ in range(contract.AT_ONCE))))
    seconds, cpu_seconds = clock.seconds, clock.cpu_seconds
    client.pool.close()
    settings = f"{contract.AT_ONCE} at once"
    contract.report("aioapns", found, settings, accepted, seconds, cpu_seconds, latencies)


found = version("aioapns")
contract.presence("aioapns", found)
asyncio.run(main(found))
