"""Anchors: the head of the audit log at a moment, signed, to be kept where the owner of the database cannot reach it.

The database is named by the hash of the log's first entry. What is signed is a text of lines, so that it can be put
together again without this product: the format, the database, the number, the hash and the time.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dashboard.domain.errors import OperationsError

FORMAT = "operations-dashboard/audit-anchor/v1"
LARGEST = 2**63 - 1
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}\+00:00", re.ASCII)
_PATTERNS = {"database": _HASH, "hash": _HASH, "at": _TIME, "public_key": _HASH, "signature": _SIGNATURE}


class AnchorInvalidError(OperationsError):
    """A text is no anchor; `reason` says what is wrong with it."""

    default_code = "anchor_invalid"


@dataclass(frozen=True)
class Anchor:
    """A signed head: `database` and `hash` are SHA-256, `public_key` and `signature` Ed25519, all as hex digits."""

    database: str
    seq: int
    hash: str
    at: str
    public_key: str = ""
    signature: str = ""

    @property
    def name(self) -> str:
        """How findings call it."""
        return f"{self.seq} of {self.at}"

    def signed(self) -> bytes:
        """The bytes that the signature covers."""
        return "\n".join((FORMAT, self.database, str(self.seq), self.hash, self.at, "")).encode()

    def text(self) -> str:
        """The anchor as it is kept in a file: JSON with line breaks."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2) + "\n"


def read_anchors(text: str) -> tuple[Anchor, ...]:
    """Read the anchors of a file, which may hold several one after the other; AnchorInvalidError otherwise."""
    found = tuple(_anchor(value) for value in _values(text))
    if not found:
        raise AnchorInvalidError(reason="it is empty")
    return found


def _values(text: str) -> Iterator[Any]:
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError) as error:
            raise AnchorInvalidError(reason="it is not JSON") from error
        yield value
        rest = rest[end:].lstrip()


def _anchor(value: object) -> Anchor:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise AnchorInvalidError(reason=f"it does not say that its format is {FORMAT}")
    for name, pattern in _PATTERNS.items():
        if not isinstance(value.get(name), str) or not pattern.fullmatch(value[name]):
            raise AnchorInvalidError(reason=f"its {name} is missing or malformed")
    seq = value.get("seq")
    if type(seq) is not int or not 0 < seq <= LARGEST:
        raise AnchorInvalidError(reason="its seq is missing or malformed")
    return Anchor(seq=seq, **{name: value[name] for name in _PATTERNS})
