"""Situations of old clients: of what they send, and of their connections."""

import subprocess

from prometheus import Fault
from situation import recover, scrape_traffic, situation


@situation("A gateway that is well, with a few bad tokens and a monitor at its port")
def well(lab):
    lab.start()
    lab.begin()
    for _ in range(3):
        lab.traffic(good=190, gone=4, bad=4)
        lab.dial().close()
        lab.scrape()


@situation("A gateway to which nobody sends")
def idle(lab):
    lab.start_apns()
    lab.configure()
    lab.start_gateway()
    lab.scrape()
    lab.begin()
    for _ in range(3):
        lab.wait(1)
        lab.scrape()


@situation("Notifications that APNs refuses without a fault of their client", "FerryGatewayDeadLetters")
def dead_letters(lab):
    lab.start()
    lab.begin()
    scrape_traffic(lab, good=95, wrong=5)
    recover(lab)


@situation("A client with many bad tokens", "FerryGatewayManyRejections")
def many_rejections(lab):
    lab.start()
    lab.begin()
    scrape_traffic(lab, good=20, bad=20)
    recover(lab)


@situation("A client that sends what is no notification", "FerryGatewayFaultyNotifications")
def faulty_notifications(lab):
    lab.start()
    lab.begin()
    for _ in range(3):
        lab.traffic()
        for _ in range(10):
            lab.send(b"no JSON", good=1)
        lab.settle()
        lab.scrape()
    recover(lab)


@situation("Strangers at the port", "FerryGatewayClientsRefused")
def strangers(lab):
    lab.start()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=stranger", "-days", "30",
         "-keyout", "stranger-key.pem", "-out", "stranger.pem"],
        cwd=lab.folder, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    lab.begin()
    for number in range(1, 4):
        if lab.connect("stranger.pem", "stranger-key.pem"):
            raise Fault("The gateway takes a client with a foreign certificate.")
        lab.dial().sendall(b"GET / HTTP/1.0\r\n\r\n")
        for cause in ("certificate", "handshake"):
            lab.until(lambda s: s.sum("refused_connections_total", cause=cause) >= number, f"{cause} counts a refusal")
        lab.scrape()
    recover(lab)


@situation("More connections than the gateway may have", "FerryGatewayConnectionsFull")
def connections_full(lab):
    # It leaves room for less than 120 connections.
    lab.start(files=170)
    lab.begin()
    closed = 0
    for _ in range(3):
        connections = [lab.dial() for _ in range(120)]
        lab.until(lambda s: s.sum("refused_connections_total", cause="place") > closed, "a connection is closed")
        for connection in connections:
            connection.close()
        # The gateway may have begun to close another one.
        lab.wait(0.5)
        lab.scrape()
        closed = lab.scrapes["during"][-1].sum("refused_connections_total", cause="place")
    recover(lab)
