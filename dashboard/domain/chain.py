"""The bytes and hash of an audit entry, so that any later change of a stored byte shows.

Each value is written as a type letter, its length and its bytes, so no two different entries share
one encoding. The domain tag keeps these hashes apart from every other use of SHA-256.
"""

import hashlib
from collections.abc import Sequence

DOMAIN_TAG = b"operations-dashboard/audit/v1"

Field = tuple[str, str | int | None]


def canonical_bytes(previous: str | None, fields: Sequence[Field]) -> bytes:
    """Encode the previous hash and the named fields, in the order given, without ambiguity."""
    parts = [_framed(b"d", DOMAIN_TAG), _value(previous), _framed(b"c", str(len(fields)).encode())]
    for name, value in fields:
        parts += [_framed(b"k", name.encode()), _value(value)]
    return b"".join(parts)


def entry_hash(previous: str | None, fields: Sequence[Field]) -> str:
    """Return the SHA-256 of an entry, 64 hex digits; `previous` is None for the first entry."""
    return hashlib.sha256(canonical_bytes(previous, fields)).hexdigest()


def _value(value: str | int | None) -> bytes:
    if value is None:
        return _framed(b"n", b"")
    if isinstance(value, str):
        return _framed(b"s", value.encode())
    return _framed(b"i", str(int(value)).encode())


def _framed(kind: bytes, content: bytes) -> bytes:
    return kind + len(content).to_bytes(8, "big") + content
