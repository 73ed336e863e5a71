"""The answer that is stored under an idempotency key, as a person may see it: as text, and without secrets."""

import codecs
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.domain.keys import KeyState, Resend
from dashboard.domain.masking import mask_body
from dashboard.domain.redaction import redact, redact_text
from dashboard.domain.text import visible
from dashboard.models import IdempotencyRecord
from dashboard.queries.idempotency import Body
from dashboard.web.formatting import NONE, ago
from dashboard.web.language import gettext

SHOWN_CHARACTERS = 4000


@dataclass(frozen=True)
class ShownBody:
    """A stored body: its length in bytes, and its beginning as text; None where it is no text."""

    length: int
    text: str | None
    cut: bool = False


def sentence_of(outcome: Resend, record: IdempotencyRecord) -> str:
    """Say what happens if the key is sent again with the same content."""
    status = record.response_status
    if outcome is Resend.REPLAY:
        words = gettext("the stored answer %(status)s is sent once more. Nothing is done again.", status=status)
    elif outcome is Resend.WITHOUT_ANSWER:
        words = gettext(
            "%(status)s, what became of it: no answer was stored. Nothing is done again.", status=_bare(record)
        )
    elif outcome is Resend.EXPIRED:
        since = ago(record.expires_at) if record.expires_at else ""
        words = gettext(
            "410, because its answer expired %(since)s. Nothing is done again: a key is never new twice.", since=since
        )
    elif outcome is Resend.IN_WORK:
        words = gettext("202, because the first request is still being worked on. Nothing is started a second time.")
    elif outcome is Resend.LEASE_LOST:
        words = gettext(
            "202. Its worker went silent, so the effect may exist or not: nothing is started until that is proven."
        )
    else:
        words = gettext("202, until it is known what the first request did. Nothing is started a second time.")
    return gettext("If this key is sent again: %(what)s", what=words)


def again(outcome: Resend, record: IdempotencyRecord) -> list[tuple[str, str, str]]:
    """What the sender gets for the same and for other content: which content, the answer, what it tells them."""
    status = NONE if record.response_status is None else str(record.response_status)
    told = {
        Resend.REPLAY: (status, gettext("The stored headers and body, marked Idempotent-Replayed: true.")),
        Resend.WITHOUT_ANSWER: (_bare(record), gettext("What became of it: the state, ids and times of this record.")),
        Resend.EXPIRED: ("410", gettext("That it was dealt with before, and the ids of this record; not its answer.")),
    }
    waiting = ("202", gettext("Location says where to ask for the outcome, Retry-After says when."))
    return [
        (gettext("The same"), *told.get(outcome, waiting)),
        (gettext("Anything else"), "409", gettext("idempotency_key_reused: the key was used for something else.")),
    ]


def _bare(record: IdempotencyRecord) -> str:
    """The status for an outcome without an answer, as the layer gives it."""
    return "409" if record.state == KeyState.FAILED else "200"


def headers_of(stored: object) -> list[tuple[str, str]]:
    """Give the stored headers as pairs of text, with what must never be stored or shown taken out."""
    pairs = list(stored.items()) if isinstance(stored, Mapping) else stored
    if not isinstance(pairs, list):
        return []
    shown: Any = redact([list(pair) for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2])  # noqa: PLR2004
    return [(visible(_text(name)), visible(_text(value))) for name, value in shown]


def text_of(body: Body | None, *, masked: Iterable[str] = ()) -> ShownBody | None:
    """Give the beginning of a body as harmless text; what is not UTF-8 or holds a NUL is no text.

    Where policy masks anything, a body too long to be taken apart is masked whole.
    """
    if body is None:
        return None
    whole = len(body.start) == body.length
    try:
        # The last character may be cut in two, but only where the body goes on.
        text = codecs.getincrementaldecoder("utf-8")().decode(body.start, final=whole)
    except UnicodeDecodeError:
        return ShownBody(body.length, None)
    if "\0" in text:
        return ShownBody(body.length, None)
    text = mask_body(redact_text(text), paths=masked)
    return ShownBody(body.length, visible(text[:SHOWN_CHARACTERS]), cut=not whole or len(text) > SHOWN_CHARACTERS)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
