"""The drop-in for PyAPNs, against simulated servers over both protocols."""
import collections
import datetime
import json
import logging
import os
import signal
import socket
import ssl
import sys
import threading
import time
import unittest

import apns
from apns import APNs, Frame, Payload, PayloadAlert, PayloadTooLargeError
from support import GONE, MODULES, RULES, Program, Simulator, run, tokens

BAD, GONE_TOKEN = "bad0" * 16, "909e" * 16
BACKENDS = ("http2", "binary")

logging.getLogger("apns").addHandler(logging.NullHandler())
logging.getLogger("apns").propagate = False


def merged(**more):
    return dict(RULES, **more)


class Names(unittest.TestCase):
    def test_a_payload_has_the_documented_members(self):
        self.assertEqual(Payload(alert="Hello", sound="default", badge=0, category="c", custom={"n": 1},
                                 content_available=True, mutable_content=True).dict(),
                         {"aps": {"alert": "Hello", "sound": "default", "badge": 0, "category": "c",
                                  "content-available": 1, "mutable-content": 1}, "n": 1})
        self.assertEqual(Payload().json(), b'{"aps":{}}')
        self.assertEqual(Payload(u"\u20ac").json(), u'{"aps":{"alert":"\u20ac"}}'.encode("utf-8"))

    def test_an_alert_has_the_documented_members(self):
        alert = PayloadAlert("Hello", title="t", subtitle="s", action_loc_key="a", loc_key="l", loc_args=["x"],
                             launch_image="i")
        self.assertEqual(Payload(alert).dict()["aps"]["alert"],
                         {"body": "Hello", "title": "t", "subtitle": "s", "action-loc-key": "a", "loc-key": "l",
                          "loc-args": ["x"], "launch-image": "i"})
        self.assertEqual(PayloadAlert("Hello").dict(), {"body": "Hello"})

    def test_a_long_payload_raises(self):
        room = apns.MAX_PAYLOAD_LENGTH - len(Payload("").json()) - len('"alert":""')
        Payload("." * room)
        with self.assertRaises(PayloadTooLargeError) as caught:
            Payload("." * (room + 1))
        self.assertEqual(caught.exception.payload_size, apns.MAX_PAYLOAD_LENGTH + 1)

    def test_a_frame_has_the_bytes_of_the_protocol(self):
        frame = Frame()
        frame.add_item("00ff", Payload(), 1, 3600.5, 10)
        self.assertEqual(frame.get_frame(), bytearray(
            b'\x02\x00\x00\x00\x24\x01\x00\x02\x00\xff\x02\x00\x0a{"aps":{}}\x03\x00\x04\x00\x00\x00\x01'
            b'\x04\x00\x04\x00\x00\x0e\x10\x05\x00\x01\x0a'))
        self.assertEqual(frame.notification_data[0]["identifier"], 1)

    def test_a_token_that_is_not_hexadecimal_raises(self):
        self.assertRaises((ValueError, TypeError), Frame().add_item, "xy", Payload(), 1, 0, 10)
        self.assertRaises((ValueError, TypeError), APNs().gateway_server.send_notification, "abc", Payload())

    def test_servers_have_the_names_of_apple(self):
        for sandbox, name in ((False, "push.apple.com"), (True, "sandbox.push.apple.com")):
            both = APNs(use_sandbox=sandbox, cert_file="c.pem", key_file="k.pem")
            self.assertEqual((both.gateway_server.server, both.gateway_server.port), ("gateway." + name, 2195))
            self.assertEqual((both.feedback_server.server, both.feedback_server.port), ("feedback." + name, 2196))
            self.assertEqual((both.gateway_server.cert_file, both.gateway_server.key_file), ("c.pem", "k.pem"))
            self.assertIs(both.gateway_server, both.gateway_server)

    def test_what_is_not_kept_says_what_to_use(self):
        gateway = APNs().gateway_server
        for call, word in ((lambda: gateway.read(6), "register_response_listener"),
                           (lambda: gateway.write(b"x"), "send_notification"),
                           (lambda: APNs().feedback_server.read(), "items")):
            with self.assertRaises(NotImplementedError) as caught:
                call()
            self.assertIn(word, str(caught.exception))
        for call, word in ((lambda: gateway._disconnect(), "force_close"),
                           (lambda: Frame().get_notifications(gateway), "send_notification_multiple"),
                           (lambda: APNs().packed_uchar(1), "struct")):
            with self.assertRaises(AttributeError) as caught:
                call()
            self.assertIn(word, str(caught.exception))


class Case(unittest.TestCase):
    """A simulator for each test, or one for the class."""

    script = RULES

    def setUp(self):
        self.simulator = Simulator(self.script)
        self.addCleanup(self.simulator.stop)
        self.addCleanup(os.environ.pop, "FERRY_CONFIG", None)
        self.told = []
        self.gateways = []
        self.addCleanup(self.settle)

    def apns(self, backend="http2", enhanced=True, **more):
        os.environ["FERRY_CONFIG"] = self.simulator.config(backend, **more)
        both = APNs(cert_file=self.simulator.cert, enhanced=enhanced)
        both.gateway_server.register_response_listener(self.told.append)
        self.gateways.append(both.gateway_server)
        return both

    def settle(self):
        """Waits until everything has its outcome, so that the end of the simulator is no loss."""
        end = time.time() + 5
        for sender in [sender for gateway in self.gateways for sender in gateway._senders.values()]:
            while sender.thread and time.time() < end:
                time.sleep(0.01)

    def wait_for(self, count):
        end = time.time() + 10
        while len(self.told) < count and time.time() < end:
            time.sleep(0.01)
        time.sleep(0.15)  # What would be told twice.
        return sorted((error["identifier"], error["status"]) for error in self.told)

    def arrived(self, count):
        """The tokens that arrived, each of which must have arrived once."""
        records = self.simulator.records(count)
        found = [record["token"] for record in records]
        self.assertEqual([token for token, times in collections.Counter(found).items() if times > 1], [])
        return sorted(found)


class Sending(Case):
    def test_single_notifications_and_frames_arrive_once_and_each_rejection_is_told_once(self):
        for number, backend in enumerate(BACKENDS):
            self.told = []
            gateway = self.apns(backend).gateway_server
            good = tokens(300, 1000 * number)
            expiry = time.time() + 3600
            for identifier, token in enumerate(good[:150] + [BAD] + good[150:200]):
                gateway.send_notification(token, Payload("Hello"), identifier=identifier, expiry=expiry)
            frame = Frame()
            for identifier, token in enumerate(good[200:250] + [BAD] + good[250:]):
                frame.add_item(token, Payload("Hello"), 1000 + identifier, expiry, 5)
            gateway.send_notification_multiple(frame)
            self.assertEqual(self.wait_for(2), [(150, 8), (1050, 8)])
            self.assertEqual([token for token in self.arrived(300 * (number + 1)) if token in set(good)], good)
            records = dict((record["token"], record) for record in self.simulator.records())
            self.assertEqual(records[good[0]]["expiration"], int(expiry))
            self.assertEqual(records[good[0]]["payload"], {"aps": {"alert": "Hello"}})
            self.assertEqual(records[good[299]]["priority"], 5)

    def test_without_enhanced_there_is_no_expiry_unless_given(self):
        gateway = self.apns(enhanced=False).gateway_server
        good = tokens(2)
        gateway.send_notification(good[0], Payload("Hello"))
        gateway.send_notification(good[1], Payload("Hello"), expiry=2000000000)
        self.arrived(2)
        self.assertEqual([record["expiration"] for record in self.simulator.records()], [None, 2000000000])
        gateway = self.apns().gateway_server
        gateway.send_notification(tokens(1, 9)[0], Payload("Hello"))
        self.assertEqual(self.simulator.records(3)[2]["expiration"], 0)

    def test_identifiers_may_repeat_and_may_be_anything(self):
        gateway = self.apns().gateway_server
        for token in tokens(20) + [BAD, BAD]:
            gateway.send_notification(token, Payload("Hello"))
        gateway.send_notification(BAD, Payload("Hello"), identifier=(1 << 32) - 1)
        self.assertEqual(self.wait_for(3), [(0, 8), (0, 8), ((1 << 32) - 1, 8)])

    def test_what_no_server_takes_is_told_with_its_status(self):
        gateway = self.apns().gateway_server
        gateway.send_notification("", Payload(), identifier=2)
        gateway.send_notification("ab" * 101, Payload(), identifier=5)
        gateway.send_notification("ab" * 32, Payload(custom={"x": float("nan")}), identifier=7)
        self.assertEqual(self.wait_for(3), [(2, 2), (5, 5), (7, 7)])

    def test_a_device_that_is_gone_is_no_error_but_on_the_feedback_list(self):
        for backend in BACKENDS:
            path = os.path.join(self.simulator.home, "gone")
            more = {"feedback": path} if backend == "http2" else {"feedbackPort": self.simulator.ports["feedback"]}
            both = self.apns(backend, **more)
            both.gateway_server.send_notification(GONE_TOKEN, Payload("Hello"), identifier=1)
            both.gateway_server.send_notification(BAD, Payload("Hello"), identifier=2)
            self.assertEqual(self.wait_for(1), [(2, 8)])
            self.told = []
            self.assertEqual(list(both.feedback_server.items()),
                             [(GONE_TOKEN.encode("ascii"), datetime.datetime.utcfromtimestamp(GONE))])
            self.assertEqual(list(both.feedback_server.items()), [])

    def test_apples_feedback_service_raises_and_says_what_to_set(self):
        with self.assertRaises(socket.error) as caught:
            list(APNs(cert_file=self.simulator.cert).feedback_server.items())
        self.assertIn("'feedback'", str(caught.exception))

    def test_a_listener_may_send_and_may_fail(self):
        gateway = self.apns().gateway_server
        again = tokens(1)[0]

        def listener(error):
            self.told.append(error)
            if error["identifier"] == 1:
                raise RuntimeError("of the listener")
            gateway.send_notification(again, Payload("Again"))

        gateway.register_response_listener(listener)
        gateway.send_notification(BAD, Payload("Hello"), identifier=1)
        gateway.send_notification(BAD, Payload("Hello"), identifier=2)
        self.assertEqual(self.arrived(1), [again])

    def test_threads_share_a_gateway(self):
        gateway = self.apns().gateway_server
        good = tokens(800)

        def send(part):
            for token in part:
                gateway.send_notification(token, Payload("Hello"))

        threads = [threading.Thread(target=send, args=(good[number::8],)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.arrived(800), good)

    def test_a_full_library_makes_the_call_wait(self):
        gateway = self.apns(queueLimit=50).gateway_server
        frame = Frame()
        good = tokens(2000)
        for identifier, token in enumerate(good + [BAD]):
            frame.add_item(token, Payload("Hello"), identifier, 0, 10)
        gateway.send_notification_multiple(frame)
        self.assertEqual(self.wait_for(1), [(2000, 8)])
        self.assertEqual(self.arrived(2000), good)
        # Nothing is left behind.
        self.settle()
        sender = gateway._senders[os.getpid()]
        self.assertEqual((sender.sent, sender.calls, len(sender.news)), ({}, set(), 0))

    def test_outcomes_that_are_held_back_leave_nothing_behind(self):
        gateway = self.apns(outcomes="failures").gateway_server
        for identifier, token in enumerate(tokens(50) + [BAD]):
            gateway.send_notification(token, Payload("Hello"), identifier=identifier)
        self.assertEqual(self.wait_for(1), [(50, 8)])
        self.settle()
        sender = gateway._senders[os.getpid()]
        self.assertEqual(sender.sent, {})

    def test_an_object_for_each_call_loses_nothing(self):
        good = tokens(30)
        for token in good:
            self.apns().gateway_server.send_notification(token, Payload("Hello"))
        self.assertEqual(self.arrived(30), good)

    def test_a_closed_gateway_opens_again(self):
        gateway = self.apns().gateway_server
        good = tokens(20)
        for token in good:
            gateway.send_notification(token, Payload("Hello"))
            gateway.force_close()
        gateway.send_notification(BAD, Payload("Hello"), identifier=3)
        gateway.force_close()
        self.assertEqual(self.wait_for(1), [(3, 8)])
        self.assertEqual(self.arrived(20), good)


class SlowAnswers(Case):
    script = merged(http2=dict(RULES["http2"], answerDelaySeconds=0.05))

    def test_a_call_returns_when_written_and_not_after_a_round_trip(self):
        gateway = self.apns().gateway_server
        good = tokens(2000)
        start = time.time()
        for token in good:
            gateway.send_notification(token, Payload("Hello"))
        self.assertTrue(time.time() - start < 10, time.time() - start)
        self.assertEqual(self.arrived(2000), good)


class Refusals(Case):
    script = {"handshake": "refuseClient", "http2": {"handshake": "refuseClient"}}

    def test_refused_credentials_raise_what_a_failed_handshake_raised(self):
        for backend in BACKENDS:
            gateway = self.apns(backend).gateway_server
            with self.assertRaises(ssl.SSLError):
                for _ in range(20):
                    gateway.send_notification(tokens(1)[0], Payload("Hello"))
                    time.sleep(0.1)

    def test_a_certificate_that_is_missing_raises(self):
        os.environ["FERRY_CONFIG"] = self.simulator.config("http2")
        with self.assertRaises(ssl.SSLError) as caught:
            APNs(cert_file="/nonexistent.pem").gateway_server.send_notification("00ff", Payload("Hello"))
        self.assertIn("/nonexistent.pem", str(caught.exception))

    def test_a_server_that_is_not_there_raises(self):
        free = socket.socket()
        free.bind(("127.0.0.1", 0))
        gateway = self.apns(port=free.getsockname()[1], deadline=1).gateway_server
        with self.assertRaises(socket.error):
            gateway.send_notification(tokens(1)[0], Payload("Hello"))
        free.close()


class Silence(Case):
    script = {"handshake": "silent", "http2": {"handshake": "silent"}}

    def test_a_signal_ends_a_call_that_waits(self):
        gateway = self.apns(atExit=0).gateway_server

        def handler(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, handler)
        start = time.time()
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        self.assertRaises(KeyboardInterrupt, gateway.send_notification, tokens(1)[0], Payload("Hello"))
        signal.signal(signal.SIGALRM, before)
        self.assertTrue(time.time() - start < 0.4)
        self.gateways.remove(gateway)  # Would not settle.

    def test_the_end_says_what_is_left(self):
        status, _, errors = run('''
            import sys, threading, time
            from apns import APNs, Payload
            gateway = APNs(cert_file=sys.argv[1]).gateway_server
            thread = threading.Thread(target=gateway.send_notification, args=("00ff", Payload("Hello")))
            thread.daemon = True
            thread.start()
            time.sleep(0.3)
            sys.exit(3)
            ''', self.simulator.cert, FERRY_CONFIG=self.simulator.config("http2", atExit=1))
        self.assertEqual(status, 3)
        self.assertIn("1 notifications were not delivered", errors)


class Programs(Case):
    """Processes of their own."""

    PREAMBLE = '''
import os, sys, time
from apns import APNs, Payload
both = APNs(cert_file=os.environ["CERT"], enhanced=True)
def listener(error):
    sys.stdout.write("%d %d\\n" % (error["identifier"], error["status"]))
    sys.stdout.flush()
both.gateway_server.register_response_listener(listener)
def send(*tokens):
    for identifier, token in enumerate(tokens):
        both.gateway_server.send_notification(token, Payload("Hello"), identifier=identifier)
'''

    def program(self, code, backend="http2", **more):
        return Program(self.PREAMBLE + code, CERT=self.simulator.cert,
                       FERRY_CONFIG=self.simulator.config(backend, **more))

    def test_the_end_waits_for_the_listener_and_keeps_the_status(self):
        for backend in BACKENDS:
            result = self.program("send('%s', '%s')\nsys.exit(3)" % (tokens(1)[0], BAD), backend).end()
            self.assertEqual(result, (3, ["1 8"], ""))

    def test_an_uncaught_exception_ends_the_same_way(self):
        status, output, errors = self.program("send('%s')\nraise RuntimeError('of the program')" % BAD).end()
        self.assertEqual((status, output), (1, ["0 8"]))
        self.assertIn("of the program", errors)

    def test_an_exit_hook_may_send(self):
        code = "import atexit\natexit.register(lambda: send('%s', '%s'))\n" % (tokens(1)[0], BAD)
        status, output, errors = Program(code + self.PREAMBLE, CERT=self.simulator.cert,
                                         FERRY_CONFIG=self.simulator.config("http2")).end()
        self.assertEqual((status, output, errors), (0, ["1 8"], ""))
        self.assertEqual(self.arrived(1), tokens(1))

    def test_an_end_without_hooks_loses_nothing_with_the_option_wait(self):
        # Over the binary protocol each call waits for the settle time of 1 s.
        good = tokens(27)
        for backend, part in (("http2", good[:25]), ("binary", good[25:])):
            self.assertEqual(self.program("send(*%r)\nos._exit(4)" % part, backend, wait=True).end(), (4, [], ""))
        self.assertEqual(self.arrived(27), good)

    def test_parent_and_children_send_on_connections_of_their_own(self):
        good = tokens(90)
        code = '''
send(*%r)
children = []
for part in %r:
    child = os.fork()
    if child == 0:
        send(*part)
        sys.exit(5)
    children.append(child)
send(*%r)
for child in children:
    assert os.waitpid(child, 0)[1] >> 8 == 5
''' % (good[:20], [good[20:40] + [BAD], good[40:60] + [BAD]], good[60:])
        self.assertEqual(self.program(code).end(), (0, ["20 8", "20 8"], ""))
        self.assertEqual(self.arrived(90), good)

    def test_a_fork_while_threads_send(self):
        good = tokens(480)
        code = '''
import threading
good = %r
def work(part):
    for token in part:
        send(token)
threads = [threading.Thread(target=work, args=(good[number * 100:][:100],)) for number in range(4)]
for thread in threads:
    thread.start()
children = []
for number in range(8):
    child = os.fork()
    if child == 0:
        send(*good[400 + 10 * number:][:10])
        sys.exit(0)
    children.append(child)
    time.sleep(0.005)
for thread in threads:
    thread.join()
for child in children:
    assert os.waitpid(child, 0)[1] == 0
''' % good
        self.assertEqual(self.program(code).end(), (0, [], ""))
        self.assertEqual(self.arrived(480), good)

    def test_a_child_whose_parent_has_sent_may_send_for_long(self):
        # Locks of the Swift library that remember a thread by its number in the parent fail here, sooner or later.
        code = '''
import ferry, json, os
with open(os.environ["FERRY_CONFIG"]) as file:
    options = dict(json.load(file), cert=os.environ["CERT"])
def send_singly(count):
    provider = ferry.Provider(options)
    for tag in range(count):
        batch = ferry.Batch([ferry.Notification(tag, b"x" * 32, b"{}")])
        while batch:
            provider.submit(batch)
            provider.read()
    provider.drain(10)
    provider.close()
send_singly(1)
for number in range(3):
    child = os.fork()
    if child == 0:
        send_singly(15000)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
'''
        program = Program(code, CERT=self.simulator.cert, FERRY_CONFIG=self.simulator.config("http2"))
        self.assertEqual(program.end(), (0, [], ""))

    def test_multiprocessing_loses_nothing(self):
        good = tokens(60)
        path = os.path.join(self.simulator.home, "program.py")
        methods = ["fork", "spawn"] if sys.version_info[0] > 2 else [None]
        with open(path, "w") as file:
            file.write(self.PREAMBLE + '''
import multiprocessing
def work(part):
    send(*part)
if __name__ == "__main__":
    parts = %r
    send(*parts.pop())
    context = multiprocessing.get_context(sys.argv[1]) if sys.argv[1] else multiprocessing
    processes = [context.Process(target=work, args=(part,)) for part in parts]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0, process.exitcode
''' % [good[:20] + [BAD], good[20:40] + [BAD], good[40:]])
        for method in methods:
            result = run(path, method or "", CERT=self.simulator.cert, FERRY_CONFIG=self.simulator.config("http2"))
            self.assertEqual(result, (0, ["20 8", "20 8"], ""))
        self.assertEqual(sorted(record["token"] for record in self.simulator.records(60 * len(methods))),
                         sorted(good * len(methods)))

    def test_the_example_prints_each_rejection(self):
        example = os.path.join(MODULES, "examples", "pyapns.py")
        listed = tokens(100)
        bad = ["bad0%060x" % number for number in range(5)]
        gone = "909e" * 16
        path = os.path.join(self.simulator.home, "tokens")
        with open(path, "w") as file:
            file.write("\n".join(listed[:50] + bad + listed[50:] + [gone]) + "\n")
        for number, backend in enumerate(BACKENDS):
            more = {"feedback": path + ".gone"} if backend == "http2" else {
                "feedbackPort": self.simulator.ports["feedback"]}
            environment = dict(CERT=self.simulator.cert, TOKENS=path,
                               FERRY_CONFIG=self.simulator.config(backend, **more))
            status, output, errors = run(example, **environment)
            self.assertEqual((status, errors), (0, ""))
            self.assertEqual(sorted(json.loads(line)["token"] for line in output), bad)
            self.assertEqual(set(json.loads(line)["status"] for line in output), {8})
            status, output, errors = run(example, "feedback", **environment)
            self.assertEqual((status, [json.loads(line) for line in output], errors),
                             (0, [{"token": gone, "time": GONE}], ""))


if __name__ == "__main__":
    unittest.main()
