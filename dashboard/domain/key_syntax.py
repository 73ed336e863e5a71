"""How an idempotency key is written: by a client in a header, and by us for an event inside.

The header is a structured field string (RFC 9651, section 3.3.3; draft-ietf-httpapi-idempotency-key-header-07): text in
double quotes, of printable ASCII, with a backslash before `"` and before itself. Outside the profile `ietf` a
key without quotes is taken as it stands. `"k-1"` and `k-1` are one key; `k-1` and `K-1` are two.
"""

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from urllib.parse import quote

from dashboard.domain.errors import InvalidInputError, Problem

HEADER = "Idempotency-Key"
LONGEST_KEY = 255

_QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"', re.ASCII)
_ESCAPED = re.compile(r"\\(.)")
_PRINTABLE = re.compile(r"[ -~]*", re.ASCII)


class Profile(StrEnum):
    """Which statuses are answered and which keys are taken; `ietf` is the draft to the letter."""

    DEFAULT = "default"
    IETF = "ietf"


def read_key(header: str | None, *, profile: Profile = Profile.DEFAULT) -> str:
    """Return the key that a header holds; InvalidInputError with one Problem and its code otherwise.

    Codes: `key_missing`, `key_empty`, `key_too_long`, `key_characters`, `key_quotes`, `key_repeated`, `key_unquoted`.
    """
    if header is None:
        raise _refused("key_missing")
    # HTTP itself takes no notice of blanks around a value, and a server may leave them to us.
    key = _unwrapped(header.strip(" \t"), profile)
    if not key.strip(" "):
        raise _refused("key_empty")
    if len(key) > LONGEST_KEY:
        raise _refused("key_too_long", length=len(key), longest=LONGEST_KEY)
    return key


def key_for(event: Mapping[str, object]) -> str:
    """Return the key of an event that is delivered more than once: the same for each delivery, and for no other event.

    Events are told apart by `source` and `id`, as CloudEvents 1.0 says (section 3.1); InvalidInputError without them.
    """
    missing = [name for name in ("source", "id") if not isinstance(event.get(name), str) or not event[name]]
    if missing:
        raise InvalidInputError(tuple(Problem(name, "missing") for name in missing))
    key = "#".join(quote(str(event[name]), safe="/:", errors="surrogatepass") for name in ("source", "id"))
    if len(key) <= LONGEST_KEY:
        return key
    return f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"


def _unwrapped(value: str, profile: Profile) -> str:
    if value.startswith('"'):
        return _unquoted(value)
    if profile is Profile.IETF:
        raise _refused("key_unquoted" if value else "key_empty")
    if not _PRINTABLE.fullmatch(value):
        raise _refused("key_characters")
    if "," in value:
        # Two headers arrive as one with a comma between, and nobody can tell which was meant.
        raise _refused("key_repeated")
    return value


def _unquoted(value: str) -> str:
    if not _PRINTABLE.fullmatch(value):
        raise _refused("key_characters")
    found = _QUOTED.match(value)
    if found is None:
        raise _refused("key_quotes")
    if found.end() != len(value):
        raise _refused("key_repeated" if value[found.end() :].lstrip(" \t").startswith(",") else "key_quotes")
    return _ESCAPED.sub(r"\1", found.group(1))


def _refused(code: str, **details: object) -> InvalidInputError:
    return InvalidInputError((Problem(HEADER, code, details),))
