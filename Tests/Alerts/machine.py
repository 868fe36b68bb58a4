"""Situations of the gateway's own machine: its process, its disk, its certificates and its log."""

import fcntl
import os
import signal
import threading
import time

from lab import MANY
from prometheus import Fault
from situation import recover, scrape_traffic, scrape_waiting, situation


# The process


@situation("A gateway without a store")
def storeless(lab):
    lab.start(store=False)
    lab.begin()
    scrape_traffic(lab)


@situation("A restart, and a reload", goes_on=False)
def restart(lab):
    lab.start()
    lab.begin()
    lab.gateway.end()
    lab.start_gateway()
    lab.traffic()
    lab.scrape()
    lab.configuration["logLevel"] = "debug"
    lab.reload()
    lab.traffic()
    lab.scrape()


@situation("A gateway that is killed", "FerryGatewayDown", goes_on=False, minutes=5)
def killed(lab):
    lab.start()
    lab.begin()
    lab.gateway.end(signal.SIGKILL)
    lab.scrape()
    lab.start_gateway()
    recover(lab)


@situation("A gateway that hangs", "FerryGatewayDown", goes_on=False, minutes=5)
def hangs(lab):
    lab.start()
    lab.begin()
    lab.gateway.stop()
    lab.scrape()
    lab.gateway.go_on()
    recover(lab)


@situation("A gateway that is killed and started again and again", "FerryGatewayRestarts", goes_on=False, minutes=3)
def restarts(lab):
    lab.start()
    lab.begin()
    for process in range(4):
        lab.gateway.end(signal.SIGKILL)
        lab.start_gateway()
        # Each process has done more than the one before it when it is scraped, so that no counter goes back.
        for _ in range(3 + process):
            lab.traffic()
        lab.scrape()
    recover(lab)


@situation("A machine that stops the gateway for moments", "FerryGatewayLoopSlow")
def loop_slow(lab):
    def turns():
        lab.wait(0.15)
        scrape = lab.read()
        count = scrape.sum("turn_seconds_count")
        return count, count - scrape.sum("turn_seconds_bucket", le="0.5")

    lab.start()
    lab.begin()
    for _ in range(2):
        before, slow_before = turns()
        deadline = time.monotonic() + 180
        while True:
            # Three stops take less than 2 s together, after which the answers would be slow, too.
            send_with_stops(lab, 3)
            count, slow = turns()
            # A stop makes a turn slow if it comes in a turn. One of 60 is more than one of 100.
            if 60 * (slow - slow_before) >= count - before:
                break
            if time.monotonic() > deadline:
                raise Fault("Too few turns are slow although the gateway is stopped in traffic.")
        lab.scrape()
    recover(lab)


def send_with_stops(lab, stops):
    connection, frames = lab.connect(), lab.frames(good=4000)
    sender = threading.Thread(target=connection.sendall, args=(frames,), daemon=True)
    sender.start()
    lab.wait(0.002)
    for _ in range(stops):
        lab.gateway.stop()
        lab.wait(0.55)
        lab.gateway.go_on()
        lab.wait(0.004)
    sender.join(60)
    connection.close()
    lab.settle()


# The store and the list


@situation("A full disk under the store, while a client sends much", "FerryGatewayStoreNotWritable")
def store_full(lab):
    lab.start()
    lab.begin()
    lab.trouble("full")
    lab.send(good=MANY)
    lab.until(lambda s: s.sum("unanswered_notifications") >= MANY, "many notifications wait")
    lab.until(lambda s: s.sum("store_writable") == 0, "the store is in trouble")
    scrape_waiting(lab)
    lab.no_trouble("full")
    recover(lab)


@situation(
    "A second gateway with the same store, on a disk without locks",
    "FerryGatewayStoreTaken",
    implies={"FerryGatewayDeadLetters": "what the store did not have is given up"},
    # They are given up once, so their alert ends after a quarter of an hour.
    minutes=10,
)
def store_taken(lab):
    lab.start()
    connection = lab.connect()
    lab.begin()
    lab.trouble("unlocked")
    second = lab.start_second()
    try:
        # The gateway closes the connection when it finds the second one.
        connection.sendall(lab.frames(good=20))
        for _ in range(3):
            lab.until(lambda s: s.sum("store_taken") == 1, "the store is taken", 20)
            lab.scrape()
    finally:
        second.end()


@situation("A store whose file was moved", "FerryGatewayStoreNotWritable")
def store_moved(lab):
    lab.start()
    lab.begin()
    os.rename(lab.folder / "gateway.db", lab.folder / "elsewhere")
    lab.send(good=20)
    lab.until(lambda s: s.sum("store_writable") == 0, "the store is in trouble")
    scrape_waiting(lab)
    os.rename(lab.folder / "elsewhere", lab.folder / "gateway.db")
    recover(lab)


@situation("A disk that hangs for minutes", "FerryGatewayStoreNotWritable", is_long=True)
def store_hangs(lab):
    lab.start()
    lab.begin()
    lab.trouble("hold")
    lab.send(good=20)
    lab.until(lambda s: s.sum("store_writable") == 0, "the store is in trouble")
    lab.until_old()
    scrape_waiting(lab)
    lab.no_trouble("hold")
    recover(lab)


# If it went on, each minute would have a slow commit.
@situation("A disk that hangs for seconds between scrapes, while clients connect", goes_on=False)
def store_hangs_unseen(lab):
    lab.start()
    lab.begin()
    for number in range(1, 4):
        lab.trouble("hold")
        lab.send(good=1)
        lab.until(lambda s: s.sum("store_writable") == 0, "the store is in trouble")
        lab.send(good=1)
        lab.until(lambda s: s.sum("refused_connections_total") >= number, "a connection is refused")
        lab.no_trouble("hold")
        lab.until(lambda s: s.sum("store_writable") == 1, "the store is well")
        lab.traffic()
        lab.scrape()
    recover(lab)


@situation("A disk that is slow at times", "FerryGatewayCommitSlow")
def commits_slow(lab):
    def slow(scrape):
        return scrape.sum("commit_seconds_count") - scrape.sum("commit_seconds_bucket", le="1")

    lab.start()
    lab.begin()
    for number in range(1, 4):
        lab.trouble("slow")
        lab.traffic()
        lab.until(lambda s: slow(s) >= number and s.sum("store_writable") == 1, "a commit was slow")
        lab.scrape()
    recover(lab)


@situation("A full disk under the list of rejections", "FerryGatewayListNotWritable")
def list_full(lab):
    lab.start()
    lab.begin()
    lab.trouble("list")
    scrape_traffic(lab, good=95, gone=5)
    lab.no_trouble("list")
    lab.until(lambda s: s.sum("list_waiting_lines") == 0, "the list has its lines")
    recover(lab)


@situation(
    "A list of rejections that cannot be written for long",
    "FerryGatewayListLinesLost",
    implies={"FerryGatewayListNotWritable": "lines are lost only while as many as may wait do wait"},
)
def list_lines_lost(lab):
    lab.start()
    lab.begin()
    lab.trouble("list")
    # As many lines as the store keeps for the list.
    lab.send(gone=250_000)
    lab.until(lambda s: s.sum("gone_total") == 250_000, "all devices have lost the app", 300)
    for number in range(1, 4):
        lab.send(gone=100)
        lab.until(lambda s: s.sum("list_lost_lines_total") == 100 * number, "lines are lost")
        lab.scrape()
    lab.no_trouble("list")
    lab.until(lambda s: s.sum("list_waiting_lines") == 0, "the list has its lines")
    recover(lab)


# Certificates and messages


def renew(lab, days):
    """Replaces the certificate of the gateway by one that is valid for so many days, and scrapes."""
    folder = f"days-{days}"
    lab.run("identity", "new", "--topic", "com.example.shop", "--dir", folder, "--days", str(days))
    lab.configuration["listen"] |= {"cert": f"{folder}/server.pem", "key": f"{folder}/server-key.pem"}
    lab.reload()
    for _ in range(2):
        lab.wait(0.15)
        lab.scrape()


@situation("A certificate that ends in twenty days", "FerryGatewayCertificateEnds")
def certificate_ends(lab):
    lab.start()
    lab.begin()
    renew(lab, 20)
    lab.end()
    renew(lab, 200)


@situation("A certificate that ends in five days", "FerryGatewayCertificateEndsThisWeek")
def certificate_ends_this_week(lab):
    lab.start()
    lab.begin()
    renew(lab, 5)
    lab.end()
    renew(lab, 200)


# Each address is told once, so that it cannot happen again.
@situation("A standard error that nobody reads", "FerryGatewayMessagesDropped", goes_on=False, minutes=3)
def messages_dropped(lab):
    lab.start_apns()
    lab.configure()
    reading, writing = os.pipe()
    # The least that a pipe holds, so that few messages fill it.
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    lab.start_gateway(stderr=writing)
    os.close(writing)
    lab.traffic()
    lab.scrape()
    lab.begin()
    # As monitors, and then as strangers.
    for number in range(1000):
        lab.dial(f"127.1.{number // 250}.{number % 250 + 1}").close()
    for number in range(300):
        lab.dial(f"127.1.{number // 250}.{number % 250 + 1}").sendall(b"GET / HTTP/1.0\r\n\r\n")
    lab.until(lambda s: s.sum("log_lines_dropped_total") > 0, "messages are dropped")
    lab.scrape()
    threading.Thread(target=read_all, args=(reading,), daemon=True).start()
    recover(lab)


def read_all(descriptor):
    with open(descriptor, "rb") as file:
        while file.read(1 << 16):
            pass
