"""Apple's own library judges the texts that Ferry judged: genuine notifications, and more than 1,000 changed ones.

    FERRY_APP_STORE_CASES=/tmp/cases.jsonl swift test --filter AppStoreLibraryTests
    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install app-store-server-library==3.1.2
    /tmp/venv/bin/python Tests/Interop/app_store_library.py /tmp/cases.jsonl [--verbose]

The first line of the file holds the roots; each other line a text with Ferry's verdict. Fails unless both accept every
genuine text, and each difference has its reason in EXPLAINED.
"""

import collections
import json
import re
import ssl
import sys

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException

BUNDLE_ID = "com.example.app"
APP_APPLE_ID = 1234567890

# Kinds of changes about which the verdicts may differ, by the verdict of Ferry.
EXPLAINED = {
    ("refused", "padding"): "Base64url has no padding (RFC 7515, section 2); the library takes it.",
    ("refused", "standard alphabet"): "The alphabet is that of base64url; older versions of PyJWT take both.",
    ("refused", "unused bits"): "Each text has one form only; older versions of PyJWT drop bits that encode nothing.",
    ("refused", "header name twice"): "Two readers would see two values; Python takes the last.",
    ("refused", "payload name twice"): "As header name twice.",
    ("refused", "signedDate twice"): "As header name twice.",
    ("refused", "crit"): "An extension that must be understood is not (RFC 7515, section 4.1.11).",
    ("refused", "signedDate missing"): "The certificates are judged at signedDate; the library takes the present time.",
    ("refused", "signedDate of another type"): "The date is a whole number; Python makes one of texts and fractions.",
    ("refused", "bytes after leaf"): "A certificate ends where its DER ends.",
    ("refused", "bytes after intermediate"): "As bytes after leaf.",
    ("refused", "third empty"): "x5c holds three certificates in Base64; the library never decodes the third.",
    ("refused", "third in base64url"): "As third empty.",
    ("refused", "third with a line break"): "As third empty.",
    ("refused", "third with a space"): "As third empty.",
    ("refused", "member missing"): "A notification needs notificationUUID and notificationType to be stored.",
    ("refused", "member of another type"): "As member missing.",
    ("accepted", "claim"): "exp, nbf and aud are claims of JWT; Apple's payloads have none, and a notification has no end.",
    ("accepted", "data member of another type"): "A number in place of a text inside is what Apple signed: no text to verify.",
}

NESTED = {
    "signedTransactionInfo": "verify_and_decode_signed_transaction",
    "signedRenewalInfo": "verify_and_decode_renewal_info",
    "signedAppTransactionInfo": "verify_and_decode_app_transaction",
}


def verifiers(roots):
    certificates = re.findall("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", roots, re.DOTALL)
    ders = [ssl.PEM_cert_to_DER_cert(certificate) for certificate in certificates]
    return {
        "Production": SignedDataVerifier(ders, False, Environment.PRODUCTION, BUNDLE_ID, APP_APPLE_ID),
        "Sandbox": SignedDataVerifier(ders, False, Environment.SANDBOX, BUNDLE_ID),
    }


def judge(verifier, text):
    """Returns None for a text that the library accepts with all texts inside, or why it does not."""
    try:
        notification = verifier.verify_and_decode_notification(text)
        for part in (notification.data, notification.appData):
            for name, method in NESTED.items():
                nested = getattr(part, name, None)
                if nested is not None:
                    getattr(verifier, method)(nested)
    except VerificationException as error:
        return f"{error.status.name} ({error.__cause__})"
    except Exception as error:  # The library lets errors of its models through.
        return f"{type(error).__name__}: {error}"
    return None


def main(path, verbose):
    counts, differences, unexplained = collections.Counter(), collections.Counter(), []
    with open(path, encoding="utf-8") as lines:
        by_environment = verifiers(json.loads(next(lines))["roots"])
        for line in lines:
            case = json.loads(line)
            kind = case["name"].split(":")[0]
            fault = judge(by_environment[case["environment"]], case["signedPayload"])
            ferry = "accepted" if case["ferry"] == "accepted" else "refused"
            apple = "refused" if fault else "accepted"
            counts[ferry, apple] += 1
            reason = f"ferry: {case['ferry']} {case.get('sentence', '')} | library: {fault or 'accepted'}"
            if verbose:
                print(f"{case['name']} | {reason}")
            if kind == "genuine" and (ferry, apple) != ("accepted", "accepted"):
                unexplained.append(f"{case['name']} | {reason}")
            elif ferry != apple:
                differences[ferry, kind] += 1
                if (ferry, kind) not in EXPLAINED:
                    unexplained.append(f"{case['name']} | {reason}")
    for (ferry, apple), count in sorted(counts.items()):
        print(f"{count:5} texts: Ferry {ferry}, Apple's library {apple}")
    for key, count in sorted(differences.items()):
        print(f"{count:5} texts: Ferry {key[0]}, {key[1]}: {EXPLAINED.get(key, 'NOT EXPLAINED')}")
    for text in unexplained:
        print(f"not explained: {text}")
    sys.exit(1 if unexplained or sum(counts.values()) < 1000 else 0)


if __name__ == "__main__":
    main(sys.argv[1], "--verbose" in sys.argv)
