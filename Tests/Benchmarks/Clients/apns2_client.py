"""Sends with apns2, which is also known as PyAPNs2."""
import time
from importlib.metadata import version

from apns2.client import APNsClient, Notification, NotificationType
from apns2.credentials import TokenCredentials
from apns2.payload import Payload
from hyper import HTTP20Connection
from hyper.tls import init_context

import contract


class LoopbackCredentials(TokenCredentials):
    """Provider tokens for a server that the authority of the run vouches for. apns2 has no option for either."""

    def create_connection(self, *_):
        context = init_context(cert_path=contract.CA)
        return HTTP20Connection(contract.HOST, contract.PORT, ssl_context=context, force_proto="h2", secure=True)


def one_by_one(client, payload, numbers):
    latencies = []
    for number in numbers:
        start = time.perf_counter()
        # A rejection is an exception.
        client.send_notification(contract.token(number), payload, contract.TOPIC)
        latencies.append(time.perf_counter() - start)
    return len(latencies), latencies


def batch(client, payload, numbers):
    """Leaves to apns2 how many are under way. It does not tell when an answer came."""
    notifications = (Notification(contract.token(number), payload) for number in numbers)
    results = client.send_notification_batch(notifications, contract.TOPIC, push_type=NotificationType.Alert)
    return sum(result == "Success" for result in results.values()), []


found = version("apns2")
contract.presence("apns2", found)
client = APNsClient(LoopbackCredentials(contract.KEY, contract.KEY_ID, contract.TEAM_ID))
payload = Payload(alert="Hello")
send, settings = (one_by_one, "1 at once") if contract.AT_ONCE == 1 else (batch, "batch")
send(client, payload, range(contract.WARM_UP))
clock = contract.Clock()
accepted, latencies = send(client, payload, range(contract.WARM_UP, contract.WARM_UP + contract.COUNT))
contract.report("apns2", found, settings, accepted, clock.seconds, clock.cpu_seconds, latencies)
