"""What a client is told: the stored answer, that the work is not finished, or why nothing was done.

Errors are `application/problem+json` (RFC 9457) with a stable `code`.
"""

import json
import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from dashboard.domain.errors import InvalidInputError
from dashboard.domain.fingerprint import PayloadError
from dashboard.domain.key_syntax import HEADER, LONGEST_KEY, Profile
from dashboard.domain.keys import KeyState
from dashboard.domain.reservations import Answer, Conflict, Header, Replay, Unfinished

REPLAYED: Header = ("Idempotent-Replayed", "true")
EXPIRES_IN = "Idempotency-Expires-In"
UNAVAILABLE_FOR = timedelta(seconds=5)
BAD_BODY = {"payload_too_large": 413, "payload_length_unknown": 411}

TITLES = {
    "idempotency_key_missing": f"This request needs the header {HEADER}: a name of your own, new for each intention.",
    "idempotency_key_empty": f"The header {HEADER} is empty.",
    "idempotency_key_too_long": f"The idempotency key is longer than {LONGEST_KEY} characters.",
    "idempotency_key_characters": "The idempotency key holds something else than printable ASCII.",
    "idempotency_key_quotes": f"The quotes of {HEADER} do not close, or something follows them.",
    "idempotency_key_repeated": f"{HEADER} came more than once. A comma belongs between double quotes.",
    "idempotency_key_unquoted": f'The idempotency key must be a string in double quotes: {HEADER}: "k-1".',
    "idempotency_key_reused": "This key was used for a request that said something else. Take a new key.",
    "idempotency_in_progress": "The first request with this key is being worked on. Ask again later.",
    "idempotency_pending": "What the first request with this key did is not known yet. Ask again later.",
    "idempotency_answer_expired": "This request was dealt with before; its answer is no longer kept. Nothing was done.",
    "idempotency_closed": "This request was closed without an effect. Take a new key to ask for it again.",
    "idempotency_unavailable": "The key could not be reserved, so nothing was done. Send the same again.",
    "payload_duplicate_name": "The body names a field twice, so nobody can tell which was meant.",
    "payload_number": "The body holds a number that is none, such as NaN.",
    "payload_not_json": "The body is not JSON.",
    "payload_too_deep": "The body is nested too deeply.",
    "payload_not_a_form": "The body is not a form.",
    "payload_not_multipart": "The body is not multipart, or ends too early.",
    "payload_too_large": "The body is larger than this address takes.",
    "payload_length_unknown": "The length of the body is not known, and this server cannot read such a body.",
    "payload_incomplete": "The body ended too early. Nothing was done.",
}


def problem(
    status: int, code: str, *, headers: tuple[Header, ...] = (), details: Mapping[str, object] | None = None
) -> Answer:
    """A refusal with a stable code and words."""
    title = TITLES.get(code, "The body has no single meaning.")
    said = {"type": "about:blank", "title": title, "status": status, "code": code, **(details or {})}
    return _json(status, said, kind="application/problem+json", headers=headers)


def bad_key(error: InvalidInputError) -> Answer:
    """400: the header is missing or malformed."""
    (found,) = error.problems
    return problem(400, f"idempotency_{found.code}", details=found.details)


def bad_body(error: PayloadError) -> Answer:
    """400, or 413 and 411: the body has no single meaning or cannot be read, so nothing can be compared with it."""
    details = {"field": error.field} if error.field else {}
    return problem(BAD_BODY.get(error.code, 400), error.code, details=details)


def unavailable() -> Answer:
    """503: no reservation, no effect."""
    return problem(503, "idempotency_unavailable", headers=(("Retry-After", _seconds(UNAVAILABLE_FOR)),))


def forbidden() -> Answer:
    """403 without a body: nothing is said about what the key stands for."""
    return Answer(403)


def conflict(found: Conflict, *, profile: Profile) -> Answer:
    """The key stands for other content."""
    named = {} if found.fields is None else {"fields": list(found.fields)}
    return problem(422 if profile is Profile.IETF else 409, "idempotency_key_reused", details=named)


def unfinished(found: Unfinished, *, location: str, profile: Profile) -> Answer:
    """Where and when to ask again; the work is not started a second time."""
    code = "idempotency_in_progress" if found.state is KeyState.PROCESSING else "idempotency_pending"
    headers = (("Location", location), ("Retry-After", _seconds(found.retry_after)))
    if profile is Profile.IETF:
        return problem(409, code, headers=headers, details={"state": found.state.value})
    said = {"state": found.state.value, "code": code, "title": TITLES[code]}
    return _json(202, said, headers=headers)


def replay(found: Replay) -> Answer:
    """The stored answer, byte for byte; where none is kept, what is known of the outcome."""
    headers: tuple[Header, ...] = (REPLAYED,)
    if found.expires_in is not None:
        headers = (*headers, (EXPIRES_IN, _seconds(found.expires_in)))
    if found.answer is not None:
        return Answer(found.answer.status, (*found.answer.headers, *headers), found.answer.body)
    if found.expired:
        return problem(410, "idempotency_answer_expired", headers=(REPLAYED,), details=outcome(found))
    if found.state is KeyState.FAILED:
        return problem(409, "idempotency_closed", headers=headers, details=outcome(found))
    return _json(200, outcome(found), headers=headers)


def standing(found: Replay | Unfinished) -> Answer:
    """What a key stands for, to whoever asks for it by its address."""
    if isinstance(found, Unfinished):
        said = {"state": found.state.value}
        return _json(200, said, headers=(("Retry-After", _seconds(found.retry_after)), ("Cache-Control", "no-store")))
    return _json(200, outcome(found), headers=(("Cache-Control", "no-store"),))


def outcome(found: Replay) -> dict[str, Any]:
    """What is known of finished work besides its answer."""
    return {
        "state": found.state.value,
        "completed_at": found.completed_at.isoformat() if found.completed_at else None,
        "resource_ids": list(found.resource_ids),
        "external_reference": found.external_reference,
        "operation_id": found.operation_id,
    }


def expiry(retention: timedelta) -> Header:
    """For how long, from now, the answer is sent again: a number of seconds, which needs no clock that agrees."""
    return EXPIRES_IN, _seconds(retention)


def _json(
    status: int, said: Mapping[str, object], *, kind: str = "application/json", headers: tuple[Header, ...] = ()
) -> Answer:
    body = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
    return Answer(status, (("Content-Type", kind), *headers), body)


def _seconds(length: timedelta) -> str:
    return str(max(math.ceil(length.total_seconds()), 0))
