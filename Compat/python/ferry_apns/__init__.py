"""Push notifications to APNs, over HTTP/2 or the binary protocol, through libferry.

push() sends, and returns the answers. A Provider takes notifications and gives one Outcome for each. Docs/begin/c.md lists
the options. Times are in seconds. Python 2.7 and 3.4 or later.
"""
import atexit
import collections
import ctypes
import json
import operator
import os
import struct
import sys
import time

from ferry_apns.numbers import *  # They are names of this module, too.

if sys.version_info < (2, 7) or (3, 0) <= sys.version_info < (3, 4):
    raise ImportError("ferry needs Python 2.7, or 3.4 or later.")

__version__ = "0.1.0"

_CAUSES = {
    CAUSE_SHUT_DOWN: "shut down", CAUSE_CANCELLED: "cancelled", CAUSE_EVICTED: "evicted",
    CAUSE_DISCARDED: "discarded by the gateway", CAUSE_CREDENTIALS: "the credentials were refused",
    CAUSE_NO_CONNECTION: "no connection", CAUSE_RELEASED: "released", CAUSE_DEADLINE: "the deadline passed",
    CAUSE_POSITION_UNKNOWN: "its position is unknown", CAUSE_PEER_CLOSES: "the peer closes",
    CAUSE_NOT_REPEATED: "not repeated", CAUSE_NO_ANSWER: "no answer", CAUSE_RESET: "reset",
}

_HEADER = struct.Struct("<IQIBBBBHBB")
_OUTCOME = struct.Struct("<QBBHHBBq16s")
_STEP = 0.1  # How long a call stays in the library at most: then signal handlers of Python run.
_now = getattr(time, "monotonic", time.time)


class FerryError(Exception):
    """An error of the library. `code` is one of FERRY_E... in ferry.h."""

    def __init__(self, code, sentence=None):
        Exception.__init__(self, sentence or _text(_lib.ferry_error_text(code)))
        self.code = code


def _text(chars):
    return chars if isinstance(chars, str) else chars.decode("utf-8", "replace")


def _file():
    """The library: the file of FERRY_LIBRARY, else the one inside this package, else the system's."""
    name = "libferry.so.0"
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    return os.environ.get("FERRY_LIBRARY") or (own if os.path.exists(own) else name)


def _load():
    name, fault = _file(), None
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        fault = "Ferry needs libferry: install it, or name its file in FERRY_LIBRARY. %s." % error
        if not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
            fault = "Ferry needs a system with glibc, which Alpine and others with musl are not. %s." % error
    if fault:
        raise ImportError(fault)
    number, size, text = ctypes.c_int64, ctypes.c_size_t, ctypes.c_char_p
    handle, memory = ctypes.c_uint64, ctypes.c_void_p
    functions = {
        "version": [], "error_text": [number], "reason_text": [ctypes.c_uint32],
        "open": [text, size, memory, size], "submit": [handle, memory, size, memory],
        "submit_to": [handle, text, size, text, size, size, ctypes.c_uint64],
        "read": [handle, memory, size, size], "read_run": [handle, memory, size, memory, size],
        "outcome_json": [handle, memory, size, memory, size], "read_event": [handle, memory, size], "fd": [handle],
        "wait": [handle, number], "flush": [handle, number], "drain": [handle, number], "close": [handle, number],
        "counts": [handle, memory, size], "report": [handle, memory, size], "set": [handle, text, size, memory, size],
        "free": [handle], "feedback_open": [text, size, memory, size], "feedback_read": [handle, memory, size, number],
    }
    for name, arguments in functions.items():
        function = getattr(library, "ferry_" + name, None)
        if function is None:
            raise ImportError("libferry is older than this module: it has no ferry_%s." % name)
        function.argtypes = arguments
        function.restype = text if name in ("version", "error_text", "reason_text") else number
    return library


_lib = _load()

# Is not empty while the interpreter ends. A handle that were freed then would lose what the library still sends.
_ending = []
atexit.register(_ending.append, True)


def _call(function, *arguments):
    """Calls a function that takes options and fills in a sentence."""
    message = ctypes.create_string_buffer(1024)
    result = function(*(arguments + (message, len(message))))
    if result < 0:
        raise FerryError(result, _text(message.value))
    return result


def _checked(result):
    if result < 0:
        raise FerryError(result)
    return result


def _json(options):
    text = json.dumps(options).encode("utf-8")
    return text, len(text)


def _read_json(function, *arguments, **room):
    size = room.get("size", 4096)
    buffer = ctypes.create_string_buffer(size)
    length = _checked(function(*(arguments + (buffer, size))))
    if length > size:
        return _read_json(function, *arguments, size=length)
    return json.loads(buffer.raw[:length].decode("utf-8")) if length else None


class Notification(collections.namedtuple(
        "Notification", "tag token payload priority push_type expiration topic collapse_id apns_id")):
    """One notification: a tuple, of which only the first three items are required.

    tag          a number of yours, which comes back with the outcome
    token        the device token: bytes
    payload      a JSON object: bytes
    priority     10, 5 or 1; 0: none
    push_type    a number of PUSH_TYPES; 0: none
    expiration   UNIX time, 0: now or never; None: left to APNs
    topic, collapse_id  bytes; empty: none
    apns_id      16 bytes, or None
    """
    __slots__ = ()


Notification.__new__.__defaults__ = (0, 0, None, b"", b"", None)


def pack(notifications):
    """The records of notifications. Raises ValueError or TypeError for what no record can carry."""
    parts = []
    add, header = parts.append, _HEADER.pack
    try:
        for tag, token, payload, priority, push_type, expiration, topic, collapse_id, apns_id in notifications:
            if not 0 < len(token) <= 100:
                raise ValueError("A device token has 1 to 100 bytes, not %d." % len(token))
            if apns_id is not None and len(apns_id) != 16:
                raise ValueError("An apns-id has 16 bytes, not %d." % len(apns_id))
            flags = 0 if expiration is None else RECORD_EXPIRATION
            if apns_id is not None:
                flags |= RECORD_APNS_ID
            body = b"".join((token, payload, topic, collapse_id, apns_id or b""))
            add(header(24 + len(body), tag, expiration or 0, flags, priority, push_type, len(token), len(payload),
                       len(topic), len(collapse_id)))
            add(body)
    except struct.error as error:
        raise ValueError("A number of a notification, or a length (payload 65535, topic and collapse id 255), "
                         "is out of range: %s" % error)
    records = b"".join(parts)
    if not isinstance(records, bytes):
        raise TypeError("Token, payload, topic, collapse id and apns-id are bytes, not text.")
    return records


class Batch(object):
    """Packed notifications. submit() takes from its front; its length is how many are left."""

    def __init__(self, notifications):
        notifications = list(notifications)
        self._records = pack(notifications)  # Keeps the memory that the address is of.
        self._address = ctypes.cast(ctypes.c_char_p(self._records), ctypes.c_void_p).value
        self._offset = 0
        self._count = len(notifications)

    def __len__(self):
        return self._count


class Outcome(tuple):
    """What became of one notification."""
    __slots__ = ()
    tag, outcome, detail, status, _reason, legacy = (property(operator.itemgetter(index)) for index in range(6))
    timestamp = property(operator.itemgetter(7), doc="When the device was gone, in milliseconds of UNIX time; 0: none.")

    @property
    def reason(self):
        """Apple's word, such as "BadDeviceToken"; "" if there is none."""
        return _text(_lib.ferry_reason_text(self._reason)) if self._reason else ""

    @property
    def apns_id(self):
        """16 bytes, or None."""
        return self[8] if self[6] & OUTCOME_APNS_ID else None

    def __str__(self):
        if self.outcome == UNDELIVERED or self.outcome == UNCERTAIN:
            word = "not delivered" if self.outcome == UNDELIVERED else "uncertain"
            return "%s: %s" % (word, _CAUSES.get(self.detail, "cause %d" % self.detail))
        word = {ACCEPTED: "accepted", REJECTED: "rejected", EXPIRED: "expired"}.get(self.outcome, str(self.outcome))
        return "%s: %s" % (word, self.reason) if self._reason else word

    def __repr__(self):
        return "<Outcome of %d: %s>" % (self.tag, self)


# As ferry_numbers in ferry.h.
Numbers = collections.namedtuple("Numbers", "taken unsettled unread confirmed presumed rejected expired undelivered "
                                            "uncertain contradicted resent")


class Provider(object):
    """A provider. Any thread may call it. It belongs to the process that made it: see FerryError.code EFORKED."""

    def __init__(self, options):
        """Opens a provider. `options` is a dict, or anything else that becomes a JSON object."""
        self._handle = 0
        self._handle = _call(_lib.ferry_open, *_json(options))

    def submit(self, notifications):
        """Takes notifications from the front while there is room, and returns how many. Never waits.

        `notifications` are tuples as Notification, or a Batch. A Batch remembers what was taken: submit it again.
        """
        batch = notifications if isinstance(notifications, Batch) else Batch(notifications)
        used = ctypes.c_size_t(0)
        taken = _checked(_lib.ferry_submit(self._handle, batch._address + batch._offset,
                                           len(batch._records) - batch._offset, ctypes.byref(used)))
        batch._offset += used.value
        batch._count -= taken
        return taken

    def submit_to(self, notification, tokens, first_tag):
        """Submits one notification to many tokens of one length. Returns how many were taken."""
        tokens = list(tokens)
        if not tokens:
            return 0
        if len(set(map(len, tokens))) > 1:
            raise ValueError("The device tokens of one call have one length.")
        record = pack([Notification(*notification)._replace(token=tokens[0])])
        return _checked(_lib.ferry_submit_to(self._handle, record, len(record), b"".join(tokens), len(tokens[0]),
                                             len(tokens), first_tag))

    def read(self, most=1024):
        """Returns the outcomes that have come, at most `most`."""
        buffer = ctypes.create_string_buffer(most * _OUTCOME.size)
        length = _checked(_lib.ferry_read(self._handle, buffer, _OUTCOME.size, most)) * _OUTCOME.size
        if hasattr(_OUTCOME, "iter_unpack"):
            return list(map(Outcome, _OUTCOME.iter_unpack(memoryview(buffer)[:length])))
        return [Outcome(_OUTCOME.unpack_from(buffer, offset)) for offset in range(0, length, _OUTCOME.size)]

    def read_runs(self, most=4096):
        """Like read(), as pairs of an outcome and the tags of all that differ from it in nothing else. Much faster."""
        outcome, tags, runs = ctypes.create_string_buffer(_OUTCOME.size), ctypes.create_string_buffer(8 * most), []
        while most > 0:
            count = _checked(_lib.ferry_read_run(self._handle, outcome, _OUTCOME.size, tags, most))
            if count == 0:
                break
            runs.append((Outcome(_OUTCOME.unpack(outcome.raw)), struct.unpack_from("<%dQ" % count, tags)))
            most -= count
        return runs

    def words(self, outcome):
        """An outcome as a dict of words, with the members of a line of `ferry push --events`, and a "sentence".

        Call it soon: where the outcome is not certain or not a delivery, the sentence is about the present trouble.
        """
        record = _OUTCOME.pack(*outcome)
        return _read_json(_lib.ferry_outcome_json, self._handle, record, len(record))

    def wait(self, seconds=None):
        """Waits until something is ready, and returns READY_ bits; 0 after the time. None: no limit."""
        return max(self._wait(_lib.ferry_wait, seconds, lambda bits: bits > 0), 0)

    def flush(self, seconds=None):
        """Waits until everything that was taken was written once, or has its outcome. Returns whether it is so."""
        return self._wait(_lib.ferry_flush, seconds, lambda result: result == 0) == 0

    def drain(self, seconds=None):
        """Waits until everything has its outcome. Returns how many have none."""
        return self._wait(_lib.ferry_drain, seconds, lambda left: left == 0)

    def _wait(self, function, seconds, is_done):
        end = None if seconds is None else _now() + seconds
        while True:
            step = _STEP if end is None else max(min(end - _now(), _STEP), 0)
            result = function(self._handle, int(step * 1000 + 0.999))
            if result != EINTR and is_done(_checked(result)) or end is not None and _now() >= end:
                return result

    def events(self):
        """Returns the events that have come, as dicts."""
        return list(iter(lambda: _read_json(_lib.ferry_read_event, self._handle), None))

    def report(self):
        return _read_json(_lib.ferry_report, self._handle)

    @property
    def counts(self):
        buffer = ctypes.create_string_buffer(88)
        _checked(_lib.ferry_counts(self._handle, buffer, len(buffer)))
        return Numbers(*struct.unpack("<11Q", buffer.raw))

    def set(self, options):
        """Changes what may change, such as {"share": 10}."""
        _call(_lib.ferry_set, self._handle, *_json(options))

    def fileno(self):
        """A descriptor that is readable while wait(0) is not 0. Only poll it."""
        return _checked(_lib.ferry_fd(self._handle))

    fd = property(fileno)

    def close(self, seconds=10):
        """Sends what was taken for up to this time, and closes the connections. Outcomes stay readable."""
        self.drain(seconds)
        _checked(_lib.ferry_close(self._handle, 0))

    def free(self):
        """Ends everything at once, unless close() did, and gives the memory back. Never waits."""
        handle, self._handle = self._handle, 0
        if handle:
            _lib.ferry_free(handle)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def __del__(self, _ending=_ending):
        if not _ending:
            self.free()


def feedback(options):
    """Yields (token, UNIX time) of each device on the feedback list. Reading clears the list."""
    handle = _call(_lib.ferry_feedback_open, *_json(options))
    try:
        # Room for one tuple of the longest form. The library keeps the list until all of it was asked for.
        buffer = ctypes.create_string_buffer(106)
        while True:
            length = _lib.ferry_feedback_read(handle, buffer, len(buffer), int(_STEP * 1000))
            if length in (EINTR, ETIME):
                continue
            if length == EPEER:
                raise FerryError(EPEER, _read_json(_lib.ferry_report, handle).get("lastError"))
            if _checked(length) == 0:
                return
            offset = 0
            while offset < length:
                when, size = struct.unpack_from(">IH", buffer, offset)
                offset += 6 + size
                yield buffer.raw[offset - size:offset], when
    finally:
        _lib.ferry_free(handle)


from ferry_apns.pushing import Answer, push  # Needs the names above.
