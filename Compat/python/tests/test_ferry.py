"""The module ferry, without a server: the backend `echo`."""
import binascii
import os
import select
import signal
import struct
import threading
import time
import unittest

import ferry
from support import run

BODY = b'{"aps":{}}'
BAD, GONE, DEAD, DOUBT, GOOD = (binascii.unhexlify(token) for token in ("bad0", "909e", "dead", "00bd", "1234"))


def notification(tag=0, token=GOOD, payload=BODY, **fields):
    return ferry.Notification(tag, token, payload, **fields)


class Feedback(unittest.TestCase):
    def test_a_service_that_is_not_there_raises_and_says_why(self):
        options = {"backend": "binary", "host": "localhost", "feedbackPort": 1}
        with self.assertRaises(ferry.FerryError) as raised:
            list(ferry.feedback(options))
        self.assertEqual(raised.exception.code, ferry.EPEER)
        self.assertIn("localhost:1", str(raised.exception))


class Packing(unittest.TestCase):
    def test_a_record_is_laid_out_as_the_header_says(self):
        apns_id = bytes(bytearray(range(16)))
        record = ferry.pack([notification(0x1122334455667788, priority=5, push_type=2, expiration=7, topic=b"t.t",
                                          collapse_id=b"c", apns_id=apns_id)])
        self.assertEqual(
            record,
            struct.pack("<IQIBBBBHBB", 24 + 2 + 10 + 3 + 1 + 16, 0x1122334455667788, 7, 3, 5, 2, 2, 10, 3, 1)
            + GOOD + BODY + b"t.t" + b"c" + apns_id)

    def test_an_expiration_of_0_is_not_the_same_as_none(self):
        self.assertEqual(bytearray(ferry.pack([notification(expiration=0)]))[16], 1)
        self.assertEqual(bytearray(ferry.pack([notification()]))[16], 0)

    def test_what_no_record_can_carry_raises(self):
        for fields in (dict(token=b""), dict(token=b"x" * 101), dict(payload=b"x" * 65536), dict(topic=b"x" * 256),
                       dict(collapse_id=b"x" * 256), dict(apns_id=b"x"), dict(tag=-1), dict(tag=1 << 64),
                       dict(priority=256), dict(push_type=-1), dict(expiration=1 << 32)):
            with self.assertRaises(ValueError):
                ferry.pack([notification(**fields)])

    def test_text_instead_of_bytes_raises(self):
        for fields in (dict(token=u"abcd"), dict(payload=u"{}"), dict(topic=u"t"), dict(payload=None), dict(token=7)):
            with self.assertRaises(TypeError):
                ferry.pack([notification(**fields)])

    def test_each_cause_has_words(self):
        named = [getattr(ferry, name) for name in dir(ferry) if name.startswith("CAUSE_") and name != "CAUSE_OTHER"]
        self.assertEqual(sorted(named), sorted(ferry._CAUSES))

    def test_the_longest_fields_pass(self):
        ferry.pack([notification(token=b"x" * 100, payload=b"x" * 65535, topic=b"x" * 255, collapse_id=b"x" * 255)])


class Echo(unittest.TestCase):
    def setUp(self):
        self.provider = ferry.Provider({"backend": "echo", "queueLimit": 100})

    def tearDown(self):
        self.provider.free()

    def test_each_outcome_has_its_form(self):
        self.assertEqual(self.provider.submit([
            notification(1), notification(2, BAD), notification(3, GONE), notification(4, DEAD), notification(5, DOUBT),
            notification(6, payload=b"[]"),
        ]), 6)
        outcomes = dict((outcome.tag, outcome) for outcome in self.provider.read())
        self.assertEqual(len(outcomes), 6)
        self.assertEqual((outcomes[1].outcome, outcomes[1].detail), (ferry.ACCEPTED, ferry.CONFIRMED))
        self.assertEqual((outcomes[2].outcome, outcomes[2].status, outcomes[2].reason, outcomes[2].legacy),
                         (ferry.REJECTED, 400, "BadDeviceToken", 8))
        self.assertEqual((outcomes[3].outcome, outcomes[3].status, outcomes[3].legacy), (ferry.REJECTED, 410, 0))
        self.assertEqual((outcomes[4].outcome, outcomes[4].detail), (ferry.UNDELIVERED, ferry.CAUSE_NO_CONNECTION))
        self.assertEqual(outcomes[5].outcome, ferry.UNCERTAIN)
        self.assertEqual((outcomes[6].outcome, outcomes[6].legacy), (ferry.REJECTED, 7))
        self.assertEqual([str(outcomes[tag]) for tag in (1, 2, 4, 5)],
                         ["accepted", "rejected: BadDeviceToken", "not delivered: no connection",
                          "uncertain: its position is unknown"])
        self.assertIsNone(outcomes[1].apns_id)
        counts = self.provider.counts
        self.assertEqual((counts.taken, counts.unsettled, counts.confirmed, counts.rejected), (6, 0, 1, 3))
        self.assertEqual(self.provider.report()["taken"], 6)

    def test_a_batch_goes_on_where_the_room_ended(self):
        batch = ferry.Batch(notification(tag) for tag in range(1000))
        tags = []
        while batch:
            before = len(batch)
            self.assertEqual(before - self.provider.submit(batch), len(batch))
            self.assertTrue(self.provider.wait(1) & ferry.READY_OUTCOMES)
            tags += [outcome.tag for outcome in self.provider.read()]
        self.assertEqual(tags, list(range(1000)))

    def test_a_full_library_takes_a_part(self):
        self.assertEqual(self.provider.submit([notification()] * 100), 100)
        self.assertEqual(self.provider.submit([notification()]), 0)
        self.assertEqual(len(self.provider.read(60)), 60)
        self.assertTrue(self.provider.wait(1) & ferry.READY_ROOM)

    def test_outcomes_that_differ_in_their_tags_alone_are_read_as_runs(self):
        self.provider.submit_to(notification(), [GOOD, GOOD, GOOD, BAD, GOOD], 10)
        self.assertEqual([tags for _, tags in self.provider.read_runs(2)], [(10, 11)])
        runs = self.provider.read_runs()
        self.assertEqual([tags for _, tags in runs], [(12,), (13,), (14,)])
        self.assertEqual([outcome.tag for outcome, _ in runs], [12, 13, 14])
        self.assertEqual((runs[1][0].outcome, runs[1][0].reason), (ferry.REJECTED, "BadDeviceToken"))
        self.assertEqual(self.provider.read_runs(), [])

    def test_one_notification_goes_to_many_devices(self):
        self.assertEqual(self.provider.submit_to(notification(), [GOOD, BAD, GOOD], 10), 3)
        outcomes = self.provider.read()
        self.assertEqual([(outcome.tag, outcome.legacy) for outcome in outcomes], [(10, 0), (11, 8), (12, 0)])
        self.assertEqual(self.provider.submit_to(notification(), [], 10), 0)
        with self.assertRaises(ValueError):
            self.provider.submit_to(notification(), [GOOD, b"x"], 10)

    def test_waiting_ends_with_its_time(self):
        start = time.time()
        self.assertEqual(self.provider.wait(0.15), 0)
        self.assertTrue(0.14 < time.time() - start < 2)
        self.assertTrue(self.provider.flush(1))
        self.assertEqual(self.provider.drain(1), 0)

    def test_the_descriptor_is_readable_while_something_is_ready(self):
        self.assertEqual(select.select([self.provider], [], [], 0)[0], [])
        self.provider.submit([notification()])
        self.assertEqual(select.select([self.provider.fd], [], [], 1)[0], [self.provider.fd])
        self.provider.read()
        self.provider.wait(0)
        self.provider.read()
        self.assertEqual(select.select([self.provider], [], [], 0)[0], [])

    def test_outcomes_stay_readable_after_the_end(self):
        self.provider.submit([notification()])
        self.provider.close()
        self.provider.close()
        self.assertEqual(len(self.provider.read()), 1)
        with self.assertRaises(ferry.FerryError) as caught:
            self.provider.submit([notification()])
        self.assertEqual(caught.exception.code, ferry.ECLOSED)
        self.provider.free()
        for call in (self.provider.read, self.provider.report, self.provider.close, lambda: self.provider.wait(1),
                     lambda: self.provider.fd, lambda: self.provider.counts):
            self.assertRaises(ferry.FerryError, call)

    def test_a_wrong_option_is_named(self):
        for options, word in (({"backend": "echo", "colour": 1}, "colour"), ({}, "backend"), ([], "object")):
            with self.assertRaises(ferry.FerryError) as caught:
                ferry.Provider(options)
            self.assertIn(word, str(caught.exception))
        with self.assertRaises(ferry.FerryError) as caught:
            self.provider.set({"share": 10})
        self.assertIn("share", str(caught.exception))

    def test_threads_share_a_provider(self):
        def send(first):
            batch = ferry.Batch(notification(tag) for tag in range(first, first + 500))
            while batch:
                if not self.provider.submit(batch):
                    time.sleep(0.001)

        threads = [threading.Thread(target=send, args=(number * 500,)) for number in range(4)]
        for thread in threads:
            thread.start()
        tags = []
        while len(tags) < 2000:
            self.assertTrue(self.provider.wait(5))
            tags += [outcome.tag for outcome in self.provider.read()]
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(tags), list(range(2000)))


class Processes(unittest.TestCase):
    def test_a_signal_handler_runs_while_a_call_waits(self):
        ran = []
        before = signal.signal(signal.SIGALRM, lambda *_: ran.append(time.time()))
        provider = ferry.Provider({"backend": "echo"})
        start = time.time()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        provider.wait(0.6)
        signal.signal(signal.SIGALRM, before)
        self.assertTrue(ran and ran[0] - start < 0.25, ran)
        self.assertTrue(time.time() - start >= 0.59)

    def test_another_thread_runs_while_a_call_waits(self):
        provider = ferry.Provider({"backend": "echo"})
        count = []
        thread = threading.Thread(target=lambda: [count.append(time.sleep(0.01)) for _ in range(10)])
        thread.start()
        provider.wait(0.5)
        self.assertEqual(len(count), 10)

    def test_a_child_opens_a_provider_of_its_own(self):
        provider = ferry.Provider({"backend": "echo"})
        child = os.fork()
        if child == 0:
            status = 1
            try:
                provider.submit([notification()])
            except ferry.FerryError as error:
                if error.code == ferry.EFORKED:
                    del provider  # Frees nothing of the parent's.
                    own = ferry.Provider({"backend": "echo"})
                    own.submit([notification(7)])
                    status = 0 if own.read()[0].tag == 7 else 2
            os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(provider.submit([notification()]), 1)

    def test_a_missing_library_gets_one_sentence(self):
        status, _, errors = run("import ferry\n", FERRY_LIBRARY="/nonexistent/libferry.so.0")
        self.assertEqual(status, 1)
        self.assertIn("ImportError: Ferry needs libferry: install it, or name its file in FERRY_LIBRARY.", errors)
        self.assertNotIn("During handling", errors)


class AsyncIO(unittest.TestCase):
    def setUp(self):
        try:
            import asyncio
            import ferry_apns.aio as ferry_asyncio
        except ImportError:
            self.skipTest("This Python has no asyncio.")
        self.asyncio = asyncio
        self.loop = asyncio.new_event_loop()
        self.provider = ferry_asyncio.AsyncProvider({"backend": "echo", "queueLimit": 50}, loop=self.loop)

    def tearDown(self):
        self.loop.close()

    def wait(self, *futures):
        """Waits until all are done. Without `async def`, which Python 2.7 could not read."""
        left = set(futures)

        def done(future):
            left.discard(future)
            if not left:
                self.loop.stop()

        for future in futures:
            future.add_done_callback(done)
        limit = self.loop.call_later(10, self.loop.stop)
        self.loop.run_forever()
        limit.cancel()
        self.assertEqual(left, set())

    def test_close_sends_what_the_library_had_no_room_for(self):
        futures = [self.provider.send(notification(0, GOOD)) for _ in range(1000)]
        self.wait(self.provider.close(), *futures)
        self.assertEqual({future.result().outcome for future in futures}, {ferry.ACCEPTED})

    def test_each_future_has_the_outcome_of_its_notification(self):
        futures = [self.provider.send(notification(0, BAD if number % 3 == 0 else GOOD)) for number in range(1000)]
        self.wait(*futures)
        self.assertEqual([future.result().legacy for future in futures],
                         [8 if number % 3 == 0 else 0 for number in range(1000)])

    def test_a_bad_notification_raises_alone(self):
        future = self.provider.send(notification())
        self.assertRaises(ValueError, self.provider.send, notification(0, b""))
        self.wait(future)
        self.assertEqual(future.result().outcome, ferry.ACCEPTED)

    def test_a_cancelled_future_disturbs_no_other(self):
        futures = [self.provider.send(notification()) for _ in range(10)]
        futures[3].cancel()
        self.wait(*futures)
        self.assertEqual(sum(not future.cancelled() for future in futures), 9)

    def test_after_the_end_a_future_has_an_exception(self):
        before = self.provider.send(notification())
        self.loop.run_until_complete(self.provider.close())
        after = self.provider.send(notification())
        self.wait(before, after)
        self.assertEqual(before.result().outcome, ferry.ACCEPTED)
        self.assertEqual(after.exception().code, ferry.ECLOSED)

    def test_an_idle_loop_sleeps(self):
        self.wait(self.provider.send(notification()))
        start = sum(os.times()[:2])
        self.loop.call_later(0.3, self.loop.stop)
        self.loop.run_forever()
        self.assertTrue(sum(os.times()[:2]) - start < 0.1)


if __name__ == "__main__":
    unittest.main()
