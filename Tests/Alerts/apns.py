"""Situations of APNs and of the way to it."""

from lab import MANY, RULES, TOKENS
from situation import recover, scrape_traffic, scrape_waiting, situation


def until_state(lab, state):
    lab.until(lambda s: s.sum("upstream_state", state=state) == 1, f"the state of the upstream is {state}", 90)


def refuse(lab, first, **counts):
    """Sends notifications that are refused with their topic, and scrapes three times while more come and wait.

    A client whose notifications wait gets no further connection, so that they come over the first one.
    """
    connection = lab.connect()
    connection.sendall(lab.frames(**first))
    for _ in range(3):
        lab.until(lambda s: s.sum("upstream_refused_topics") == 1, "the topic is refused")
        connection.sendall(lab.frames(**counts))
        lab.send(good=1)
        # Each second one of them is tried, so that more wait than before.
        lab.wait(1)
        lab.scrape()


@situation("APNs that has gone", "FerryGatewayUpstreamUnreachable")
def gone(lab):
    lab.start()
    lab.begin()
    lab.apns.end()
    lab.send(good=20)
    until_state(lab, "failing")
    scrape_waiting(lab)
    lab.start_apns()
    recover(lab)


@situation("APNs that has gone for minutes", "FerryGatewayUpstreamUnreachable", is_long=True)
def gone_for_minutes(lab):
    lab.start()
    lab.begin()
    lab.apns.end()
    lab.send(good=20)
    lab.until_old()
    scrape_waiting(lab)


@situation("APNs that was never reached", "FerryGatewayUpstreamUnreachable")
def never_reached(lab):
    lab.start_apns()
    lab.configure()
    lab.apns.end()
    lab.start_gateway()
    lab.scrape()
    lab.begin()
    # Without a notification, the gateway makes no connection but that of its start.
    lab.send(good=20)
    until_state(lab, "failing")
    scrape_waiting(lab)
    lab.start_apns()
    recover(lab)


@situation("APNs that takes connections and says nothing", "FerryGatewayUpstreamUnreachable", is_long=True)
def silent(lab):
    lab.start(upstream={"idleCheck": 1})
    lab.begin()
    lab.apns.stop()
    lab.wait(1.5)
    lab.send(good=20)
    until_state(lab, "failing")
    scrape_waiting(lab)
    lab.apns.go_on()
    recover(lab)


@situation("APNs that refuses the certificate of the upstream", "FerryGatewayCredentialsRefused")
def certificate_refused(lab):
    upstream = {"p8": None, "keyID": None, "teamID": None, "cert": "tls/client.pem", "key": "tls/client-key.pem"}
    # The topic of that certificate.
    lab.start(upstream=upstream, client={"topics": ["com.example.ferry"]})
    lab.begin()
    lab.restart_apns(handshake="refuseClient")
    lab.send(good=20)
    until_state(lab, "failing")
    scrape_waiting(lab)
    lab.restart_apns()
    recover(lab)


@situation("APNs that refuses the topic", "FerryGatewayTopicRefused")
def topic_refused(lab):
    lab.start()
    lab.begin()
    lab.restart_apns(topics=["com.example.other"])
    refuse(lab, {"good": 20}, good=20)
    lab.restart_apns()
    recover(lab)


@situation("APNs that refuses the topic for minutes", "FerryGatewayTopicRefused", is_long=True)
def topic_refused_for_minutes(lab):
    lab.start()
    lab.begin()
    lab.restart_apns(topics=["com.example.other"])
    lab.send(good=20)
    lab.until_old()
    # All of them were tried, so that none of them waits for the first time.
    for _ in range(3):
        lab.wait(1)
        lab.scrape()


@situation("APNs that refuses the provider token, while a client sends much", "FerryGatewayTopicRefused")
def token_refused(lab):
    lab.start(client={"mode": "spool"})
    lab.begin()
    lab.restart_apns([{"prefix": TOKENS["good"], "reason": "InvalidProviderToken"}])
    refuse(lab, {"good": MANY}, good=20)
    lab.restart_apns()
    recover(lab)


@situation(
    "Tokens of another environment, from the beginning",
    "FerryGatewayTopicRefused",
    implies={"FerryGatewayManyRejections": "the tokens that try the topic are refused, too"},
)
def other_environment(lab):
    lab.start_apns()
    lab.configure()
    lab.start_gateway()
    lab.scrape()
    lab.begin()
    refuse(lab, {"bad": 40}, bad=40)


@situation("APNs that answers everything with 503", "FerryGatewayUpstreamOutage", is_long=True)
def outage(lab):
    lab.start()
    lab.begin()
    lab.send(fault=20)
    until_state(lab, "outage")
    scrape_waiting(lab, fault=20)
    lab.restart_apns([rule for rule in RULES if rule["prefix"] != TOKENS["fault"]])
    recover(lab)


# The alert counts in an hour, in which few PINGs may be without an answer: what happened does not happen again.
@situation("A path that forgets quiet connections", "FerryGatewayPingsUnanswered", goes_on=False, minutes=3)
def pings_unanswered(lab):
    lab.start(through_path=True, upstream={"idleCheck": 1})
    lab.begin()
    for unanswered in range(1, 5):
        lab.path.forget()
        lab.wait(1.5)
        lab.send(good=1)
        lab.until(lambda s: s.sum("upstream_pings_unanswered_total") >= unanswered, f"PING {unanswered} has no answer")
        lab.settle()
        lab.scrape()
    recover(lab)


@situation("APNs that answers after three seconds", "FerryGatewaySlowAnswers")
def slow_answers(lab):
    lab.start()
    lab.begin()
    scrape_traffic(lab, good=80, slow=20)
    recover(lab)


@situation("APNs that takes nothing more, until there is no room", "FerryGatewayNoRoom")
def no_room(lab):
    lab.start(client={"mode": "spool"})
    lab.begin()
    lab.restart_apns(maxConcurrentStreams=0)
    # A client alone may have half of the room, which is for a million notifications.
    for _ in range(4):
        lab.send(good=130_000)
    lab.until(lambda s: s.sum("unanswered_notifications") >= 500_000, "there is no room")
    for number in range(1, 4):
        lab.send(good=1)
        lab.until(lambda s: s.sum("refused_connections_total") >= number, "a connection is refused")
        lab.scrape()
    lab.restart_apns()
    recover(lab)


@situation("A device that gets too many notifications for minutes", "FerryGatewayWaitsLong", is_long=True)
def waits_long(lab):
    lab.start()
    lab.begin()
    lab.send(busy=1)
    lab.until_old()
    # What waits has no final answer.
    for _ in range(3):
        lab.push(good=100)
        lab.scrape()


@situation("Answers that are lost, so that notifications go out once more", "FerryGatewayUncertain")
def copies(lab):
    # Few enough that no copy loses its answer, too.
    lab.start(script={"rules": [{"every": 40, "action": "loseAnswer"}]})
    lab.begin()
    scrape_traffic(lab)


@situation("Answers that are lost, and nothing goes out once more", "FerryGatewayUncertain")
def uncertain(lab):
    lab.start(repeatsUnknown=False)
    lab.begin()
    scrape_traffic(lab, good=95, lost=5)
    recover(lab)
