"""push(): one call, from device tokens to answers."""
import binascii
import json
import os
import re
import sys

import ferry_apns as ferry

#: How many seconds after its submission a notification may still be written, unless the options say so.
DEADLINE = 30
#: How many seconds beyond the deadline the last answers may take.
LAST = 15

_FIELDS = ("collapse_id", "expiration", "priority", "push_type")
_GOOD_TOKEN = re.compile(r"\A(?:[0-9a-fA-F]{2}){1,100}\Z")


class Answer(object):
    """What became of one notification. str() is the sentence.

    token      the device token, as it was given
    outcome    "accepted", "rejected", "expired", "undelivered" (certainly not delivered) or "uncertain"
    accepted   whether the outcome is "accepted"
    reason     Apple's word such as "BadDeviceToken", or the cause such as "noConnection"; None: none
    status     of HTTP/2, or of the binary protocol; None: nobody answered
    apns_id    the identifier of the notification at APNs; None: none
    timestamp  since when the device is gone, in milliseconds of UNIX time; None: it is not
    sentence   all of this in words, with the cause and the cure
    """
    __slots__ = ("token", "outcome", "reason", "status", "apns_id", "timestamp", "sentence")

    def __init__(self, token, words):
        self.token = token
        self.outcome, self.sentence = _native(words["outcome"]), _native(words["sentence"])
        self.reason, self.apns_id = _native(words.get("reason")), _native(words.get("apnsId"))
        self.status, self.timestamp = words.get("status"), words.get("timestamp")

    @property
    def accepted(self):
        return self.outcome == "accepted"

    def __str__(self):
        return self.sentence

    def __repr__(self):
        return "<Answer: %s>" % self.sentence


def _native(text):
    return text if text is None or isinstance(text, str) else text.encode("utf-8")


def push(tokens, payload, options=None, **more):
    """Sends one payload to a device, or to many, and returns the Answer, or a list of them in the order of the tokens.

    `tokens` is hexadecimal text, or a list of such texts. `payload` is what becomes JSON, or JSON. All else is options: of
    the provider, as Docs/begin/c.md has them (`key_id` is keyId), and collapse_id, expiration, priority and push_type of
    the notification. What is not given comes from the environment: FERRY_P8, FERRY_KEY_ID, FERRY_TEAM_ID, FERRY_TOPIC and
    so on. Connections stay open for the next call with the same options.

    Raises FerryError for options, and ValueError or TypeError for a notification, that cannot be used. Then nothing was
    sent. A token that cannot be one is an answer.
    """
    is_one = isinstance(tokens, (str, bytes, type(u"")))
    tokens = [tokens] if is_one else list(tokens)
    options, fields = _options(dict(options or {}, **more))
    if not isinstance(payload, (bytes, type(u""))):
        # Python 2 cannot mix text and bytes in JSON that is not ASCII.
        payload = json.dumps(payload, separators=(",", ":"), ensure_ascii=sys.version_info[0] < 3)
    fields["payload"] = payload if isinstance(payload, bytes) else payload.encode("utf-8")
    answers = _answers(_open(options), tokens, fields, options.get("deadline", DEADLINE) + LAST)
    return answers[0] if is_one else answers


def _options(given):
    """Returns the options of the provider, and the fields of the notification."""
    fields = dict((name, given.pop(name)) for name in _FIELDS if name in given)
    if not isinstance(fields.get("push_type", 0), int):
        if fields["push_type"] not in ferry.PUSH_TYPES:
            raise ValueError("The push type is one of %s." % ", ".join(sorted(ferry.PUSH_TYPES)))
        fields["push_type"] = ferry.PUSH_TYPES[fields["push_type"]]
    if "collapse_id" in fields and not isinstance(fields["collapse_id"], bytes):
        fields["collapse_id"] = fields["collapse_id"].encode("utf-8")
    options = dict((re.sub("_([a-z])", lambda match: match.group(1).upper(), name), given[name]) for name in given)
    for group in ferry.ENVIRONMENT:
        if not any(name in options for name in group):
            found = ((name, os.environ.get(variable)) for name, variable in group.items())
            options.update((name, _value(name, text)) for name, text in found if text)
    options.setdefault("backend", "http2")
    if options["backend"] in ("auto", "binary", "http2"):
        options.setdefault("deadline", DEADLINE)
    return options, fields


def _value(name, text):
    if name == "port" and text.isdigit():
        return int(text)
    if name == "production":
        return {"1": True, "true": True, "0": False, "false": False}.get(text.lower(), text)
    return text


def _open(options):
    try:
        return ferry.Provider(dict({"shared": "push " + json.dumps(options, sort_keys=True)}, **options))
    except ferry.FerryError:
        pass  # Options that are wrong, or more shared providers than a process may have: only the former raise again.
    return ferry.Provider(options)


def _answers(provider, tokens, fields, patience):
    words, notifications = {}, []
    for tag, token in enumerate(tokens):
        digits = re.sub(r"[\s<>]", "", token) if isinstance(token, (str, type(u""))) else ""
        if _GOOD_TOKEN.match(digits):
            notifications.append(ferry.Notification(tag=tag, token=binascii.unhexlify(digits.encode("ascii")), **fields))
        else:
            words[tag] = _words(provider, ferry.REJECTED, ferry.ORIGIN_FERRY, 2)  # BadDeviceToken
    batch = ferry.Batch(notifications)
    end = ferry._now() + patience
    while len(words) < len(tokens):
        taken = provider.submit(batch)
        provider.wait(1)
        outcomes = provider.read()
        words.update((outcome.tag, provider.words(outcome)) for outcome in outcomes)
        if taken or outcomes:
            end = ferry._now() + patience
        elif ferry._now() > end:
            break
    provider.close(0)
    for outcomes in iter(provider.read, []):
        words.update((outcome.tag, provider.words(outcome)) for outcome in outcomes)
    late = _words(provider, ferry.UNDELIVERED, ferry.CAUSE_DEADLINE)
    answers = [Answer(token, words.get(tag, late)) for tag, token in enumerate(tokens)]
    provider.free()
    return answers


def _words(provider, outcome, detail, reason=0):
    return provider.words((0, outcome, detail, 0, reason, 0, 0, 0, b""))
