"""The module `apns` of PyAPNs 2.0.1, on top of libferry: programs that were written for PyAPNs deliver over HTTP/2.

README.md has the differences. FERRY_CONFIG in the environment names a file of options that win over the program's.
"""
import atexit
import binascii
import collections
import datetime
import errno
import itertools
import json
import logging
import os
import socket
import ssl
import struct
import sys
import threading
import time
import weakref

import ferry_apns as ferry

__all__ = ["APNs", "FeedbackConnection", "Frame", "GatewayConnection", "MAX_PAYLOAD_LENGTH", "Payload", "PayloadAlert",
           "PayloadTooLargeError"]

MAX_PAYLOAD_LENGTH = 2048  # A program may set it: over HTTP/2 the limit is 4096.

_EXIT_SECONDS = 10
_STEP = 0.1  # How long a rejection waits at most for the thread that tells the listener.
_EPOCH = datetime.datetime(1970, 1, 1)

_logger = logging.getLogger(__name__)
_now = getattr(time, "monotonic", time.time)
_path = getattr(os, "fsdecode", lambda path: path)


class _Kept(object):
    """Has some names of its model. The others raise."""

    _instead = ""

    def __getattr__(self, name):
        raise AttributeError("%s has no %s in Ferry. %s" % (type(self).__name__, name, self._instead))


class PayloadTooLargeError(Exception):
    def __init__(self, payload_size):
        Exception.__init__(self, "The payload has %s bytes, and may have %s." % (payload_size, MAX_PAYLOAD_LENGTH))
        self.payload_size = payload_size


class PayloadAlert(object):
    def __init__(self, body=None, title=None, subtitle=None, action_loc_key=None, loc_key=None, loc_args=None,
                 launch_image=None):
        self.body = body
        self.title = title
        self.subtitle = subtitle
        self.action_loc_key = action_loc_key
        self.loc_key = loc_key
        self.loc_args = loc_args
        self.launch_image = launch_image

    def dict(self):
        names = ("body", "title", "subtitle", "action_loc_key", "loc_key", "loc_args", "launch_image")
        members = ((name.replace("_", "-"), getattr(self, name)) for name in names)
        return dict((name, value) for name, value in members if value)


class Payload(object):
    def __init__(self, alert=None, badge=None, sound=None, category=None, custom=None, content_available=False,
                 mutable_content=False):
        self.alert = alert
        self.badge = badge
        self.sound = sound
        self.category = category
        self.custom = custom
        self.content_available = content_available
        self.mutable_content = mutable_content
        size = len(self.json())
        if size > MAX_PAYLOAD_LENGTH:
            raise PayloadTooLargeError(size)

    def dict(self):
        aps = {}
        if self.alert:
            aps["alert"] = self.alert.dict() if isinstance(self.alert, PayloadAlert) else self.alert
        if self.sound:
            aps["sound"] = self.sound
        if self.badge is not None:
            aps["badge"] = int(self.badge)
        if self.category:
            aps["category"] = self.category
        if self.content_available:
            aps["content-available"] = 1
        if self.mutable_content:
            aps["mutable-content"] = 1
        payload = {"aps": aps}
        payload.update(self.custom or {})
        return payload

    def json(self):
        return _utf8(json.dumps(self.dict(), separators=(",", ":"), ensure_ascii=False))

    def __repr__(self):
        names = ("alert", "badge", "sound", "category", "custom")
        return "Payload(%s)" % ", ".join("%s=%r" % (name, getattr(self, name)) for name in names)


class Frame(_Kept):
    """Notifications for one call of send_notification_multiple()."""

    _instead = "Use add_item, notification_data or get_frame, and send_notification_multiple of the gateway."

    def __init__(self):
        self.notification_data = []
        self._items = []

    def add_item(self, token_hex, payload, identifier, expiry, priority):
        self._items.append((identifier, binascii.a2b_hex(token_hex), _utf8(payload.json()), int(expiry), priority))
        self.notification_data.append({"token": token_hex, "payload": payload, "identifier": identifier,
                                       "expiry": expiry, "priority": priority})

    def get_frame(self):
        """The bytes that the binary protocol has for these notifications."""
        frames = bytearray()
        for identifier, token, payload, expiration, priority in self._items:
            values = (token, payload, struct.pack("!I", identifier), struct.pack("!I", expiration),
                      struct.pack("!B", priority))
            frame = b"".join(struct.pack("!BH", number, len(value)) + value for number, value in enumerate(values, 1))
            frames += struct.pack("!BI", 2, len(frame)) + frame
        return frames


class APNs(_Kept):
    """The gateway and the feedback service for one certificate. Nothing is opened before it is used."""

    _instead = "Use gateway_server and feedback_server. To pack numbers, use Python's module struct."

    def __init__(self, use_sandbox=False, cert_file=None, key_file=None, enhanced=False):
        self.use_sandbox = use_sandbox
        self.cert_file = cert_file
        self.key_file = key_file
        self.enhanced = enhanced
        self._feedback_connection = None
        self._gateway_connection = None

    @property
    def feedback_server(self):
        if not self._feedback_connection:
            self._feedback_connection = FeedbackConnection(
                use_sandbox=self.use_sandbox, cert_file=self.cert_file, key_file=self.key_file)
        return self._feedback_connection

    @property
    def gateway_server(self):
        if not self._gateway_connection:
            self._gateway_connection = GatewayConnection(
                use_sandbox=self.use_sandbox, cert_file=self.cert_file, key_file=self.key_file, enhanced=self.enhanced)
        return self._gateway_connection


class APNsConnection(_Kept):
    """What the two connections have in common. A program may set `server` and `port` before the first use."""

    _instead = "Use send_notification, send_notification_multiple, register_response_listener, force_close, or items."

    def __init__(self, cert_file=None, key_file=None, timeout=None, enhanced=False):
        self.cert_file = cert_file
        self.key_file = key_file
        self.timeout = timeout
        self.enhanced = enhanced

    def read(self, n=None):
        raise NotImplementedError(
            "Ferry has no socket to read from. Use register_response_listener() or feedback_server.items().")

    def write(self, string):
        raise NotImplementedError(
            "Ferry has no socket to write to. Use send_notification() or send_notification_multiple().")

    def _options(self):
        options = {"backend": "auto", "host": self.server, "port": self.port, "config": os.environ.get("FERRY_CONFIG"),
                   "cert": self.cert_file and _path(self.cert_file), "key": self.key_file and _path(self.key_file),
                   "connectTimeout": self.timeout}
        return dict((name, value) for name, value in options.items() if value)


class FeedbackConnection(APNsConnection):
    def __init__(self, use_sandbox=False, **arguments):
        APNsConnection.__init__(self, **arguments)
        self.server = "feedback.sandbox.push.apple.com" if use_sandbox else "feedback.push.apple.com"
        self.port = 2196

    def items(self):
        """Yields (token_hex, fail_time) of each device that is gone. The list is removed when all of it was read."""
        tuples = ferry.feedback(self._options())
        while True:
            try:
                token, when = next(tuples)
            except StopIteration:
                return
            except ferry.FerryError as error:
                raise _failure(error)
            yield binascii.b2a_hex(token), _EPOCH + datetime.timedelta(seconds=when)


class GatewayConnection(APNsConnection):
    def __init__(self, use_sandbox=False, **arguments):
        APNsConnection.__init__(self, **arguments)
        self.server = "gateway.sandbox.push.apple.com" if use_sandbox else "gateway.push.apple.com"
        self.port = 2195
        self._response_listener = None
        self._senders = {}

    def send_notification(self, token_hex, payload, identifier=0, expiry=0):
        """Returns when the notification is written. An exception means that it was not sent."""
        # Without `enhanced` PyAPNs sent no expiry, and APNs kept the notification for a while.
        expiration = int(expiry) if expiry or self.enhanced else None
        self._sender().send([(identifier, binascii.a2b_hex(token_hex), _utf8(payload.json()), expiration, 0)])

    def send_notification_multiple(self, frame):
        """Returns when all are written. An exception means that none was sent."""
        self._sender().send(frame._items)

    def register_response_listener(self, response_listener):
        """`response_listener` is called with {'status': 8, 'identifier': 1} or so, on a thread of Ferry."""
        self._response_listener = response_listener
        for sender in list(self._senders.values()):
            sender.listener = response_listener

    def force_close(self):
        """Ends the connection as soon as everything has its outcome. Does not wait for that."""
        self._senders.pop(os.getpid(), None)

    @property
    def connection_alive(self):
        return os.getpid() in self._senders

    def _sender(self):
        # No lock here: after a fork it might be held by a thread of the parent. The methods of a dict are atomic.
        pid = os.getpid()
        for other in list(self._senders):
            if other != pid:
                self._senders.pop(other, None)
        return self._senders.get(pid) or self._senders.setdefault(pid, _Sender(self))


class _Sent(object):
    """A notification on its way."""
    __slots__ = ("identifier", "outcome")

    def __init__(self, identifier):
        self.identifier = identifier
        self.outcome = None


class _Sender(object):
    """What one process sends for one GatewayConnection.

    Each call reads the outcomes that have come. Only the thread tells of them, because a listener or a log may need a
    lock that the caller holds. The thread lives while something has no outcome, and keeps the sender alive: a program
    may drop its APNs object after the last call.
    """

    def __init__(self, gateway):
        self.pid = os.getpid()
        self.listener = gateway._response_listener
        self.options = dict(gateway._options(), atExit=_EXIT_SECONDS)
        self.provider = None
        self.lock = threading.RLock()  # Reentrant, because a signal handler may send.
        self.tags = itertools.count()
        self.sent = {}  # By tag: the caller's identifiers may repeat.
        self.calls = set()  # Those under way.
        self.news = collections.deque()
        self.thread = None
        self.refusal = None
        self.warned = {}

    def send(self, items):
        sent, records, refused = {}, [], []
        for identifier, token, payload, expiration, priority in items:
            status = _local_status(token, payload)
            if status:
                refused.append((identifier, status, "refused by Ferry"))
                continue
            tag = next(self.tags)
            sent[tag] = _Sent(identifier)
            records.append(ferry.Notification(tag, token, payload, priority, 0, expiration))
        batch = ferry.Batch(records)
        call = object()
        try:
            with self.lock:
                self._open()
                self._raise_refusal()
                self.calls.add(call)
                self.sent.update(sent)
                self.news.extend(refused)
                has_thread = self._start_thread()
            self._submit(batch)
            while not self.provider.flush(_STEP) and any(entry.outcome is None for entry in sent.values()):
                self._pause()
            self._read()
        except ferry.FerryError as error:
            raise _failure(error)
        finally:
            self.calls.discard(call)
        if not has_thread:
            self._work()
        self._raise_if_none_went_out(sent.values())

    def _open(self):
        if self.provider is None:
            self.provider = ferry.Provider(self.options)
            _senders.add(self)
            # Children of multiprocessing end with os._exit().
            multiprocessing = sys.modules.get("multiprocessing")
            if multiprocessing and multiprocessing.current_process().name != "MainProcess":
                multiprocessing.util.Finalize(None, _finish, (True,), exitpriority=100)

    def _submit(self, batch):
        while True:
            self.provider.submit(batch)
            if not batch:
                return
            # Full: the call waits, as it did for a socket.
            if self.provider.wait(_STEP) & ferry.READY_EVENT:
                for event in self.provider.events():
                    _logger.debug("%s", event)
            self._pause()

    def _pause(self):
        self._read()
        time.sleep(0.001)  # Where threads are greenlets, the others run only now.

    def _read(self):
        """Reads the outcomes that have come. Returns how many."""
        count = 0
        while True:
            with self.lock:
                outcomes = self.provider.read()
                for outcome in outcomes:
                    entry = self.sent.pop(outcome.tag, None)
                    if entry is not None:
                        self._settle(entry, outcome)
            if not outcomes:
                return count
            count += len(outcomes)

    def _settle(self, entry, outcome):
        entry.outcome = outcome
        if outcome.outcome == ferry.UNDELIVERED and outcome.detail == ferry.CAUSE_CREDENTIALS and not self.refusal:
            self.refusal = self.provider.report().get("lastError") or str(outcome)
        # 410 was never an error: the device is on the feedback list.
        if outcome.outcome != ferry.ACCEPTED and outcome.status != 410:
            self.news.append((entry.identifier, outcome.legacy, str(outcome)))

    def _raise_refusal(self):
        """A refusal that came after its call had returned: sockets, too, tell of it at the next write."""
        refusal, self.refusal = self.refusal, None
        if refusal:
            raise ssl.SSLError(ssl.SSL_ERROR_SSL, refusal)

    def _raise_if_none_went_out(self, entries):
        """Only if nothing of the call went out: a program that calls again must not send anything twice."""
        outcomes = [entry.outcome for entry in entries]
        if outcomes and all(outcome and outcome.outcome == ferry.UNDELIVERED for outcome in outcomes):
            with self.lock:
                self._raise_refusal()
            raise socket.error(errno.ENOTCONN, self.provider.report().get("lastError") or str(outcomes[0]))

    def _start_thread(self):
        """Returns whether there is one: at the end of the process no more can be started."""
        if _ended:
            return False
        if self.thread is None or not self.thread.is_alive():
            thread = threading.Thread(target=self._work, name="apns")
            thread.daemon = True
            try:
                thread.start()
            except (RuntimeError, threading.ThreadError):
                return False
            self.thread = thread
        return True

    def _work(self):
        """Reads outcomes and tells of them, until nothing is left."""
        while not (_ended and threading.current_thread() is self.thread):
            self.provider.drain(_STEP)
            self._pause()
            self._warn()
            for identifier, status, text in iter(self._next_news, None):
                self._tell(identifier, status, text)
            with self.lock:
                if not self.calls and self.provider.drain(0) == 0 and self._read() == 0 and not self.news:
                    # What is left was held back by the option "outcomes", or was not taken from an interrupted call.
                    self.sent.clear()
                    self.thread = None
                    return

    def _next_news(self):
        with self.lock:
            return self.news.popleft() if self.news else None

    def _warn(self):
        """Logs what the library reports in no other way: a fault in the file of FERRY_CONFIG, or a full disk."""
        report = self.provider.report()
        for name, sentence in (("configError", "FERRY_CONFIG: %s"),
                               ("feedbackLost", "%s devices that are gone could not be written to the feedback file.")):
            value = report.get(name)
            if value and value != self.warned.get(name):
                self.warned[name] = value
                _logger.error(sentence, value)

    def _tell(self, identifier, status, text):
        if not status:
            _logger.error("Notification %r: %s", identifier, text)
            return
        _logger.info("Notification %r got error response %d: %s", identifier, status, text)
        if self.listener:
            try:
                self.listener({"status": status, "identifier": identifier})
            except Exception:
                _logger.exception("The response listener failed.")

    def finish(self, end, is_hard):
        """At the end of the process: waits until the listener was told of everything."""
        thread = self.thread
        # What was not even written is left to the library, which sends for the time of its option "atExit" after this.
        if thread and (is_hard or self.provider.flush(0)):
            thread.join(max(end - _now(), 0))
        if thread and is_hard and thread.is_alive():
            self.provider.close(0)  # Gives the rest its outcome, of which the thread tells.
            thread.join(1)


def _local_status(token, payload):
    """The status of a notification that no record can carry; 0: it can."""
    return 2 if not token else 5 if len(token) > 100 else 7 if len(payload) > 65535 else 0


def _utf8(text):
    return text if isinstance(text, bytes) else text.encode("utf-8")


def _failure(error):
    """The exception that a program for PyAPNs expects in place of a FerryError."""
    if error.code == ferry.EOPTIONS:
        failure = ssl.SSLError(ssl.SSL_ERROR_SSL, str(error))
    else:
        failure = socket.error(errno.ENOTCONN, str(error))
    failure.__suppress_context__ = True
    return failure


_senders = weakref.WeakSet()
_ended = []  # Not empty when the process has ended but for its last hooks.


def _finish(is_hard=False):
    """`is_hard`: the process ends without exit(), so the library cannot send what is left."""
    end = _now() + _EXIT_SECONDS
    senders = [sender for sender in list(_senders) if sender.pid == os.getpid()]
    for sender in senders:
        sender.finish(end, is_hard)
    _ended.append(True)
    for thread in [sender.thread for sender in senders if sender.thread]:
        thread.join(1)


atexit.register(_finish)
