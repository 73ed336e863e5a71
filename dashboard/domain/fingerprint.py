"""Fingerprint v1: two payloads that mean the same have the same SHA-256, and no others.

The payload is written as canonical JSON: names by code point, no blanks, text as it is (no Unicode
normalisation), numbers by exact value, so 1, 1.0 and 1e0 agree and nothing is rounded. Rules name
fields that do not count and lists whose order does not.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from dashboard.domain.text import TextError, check_text

FINGERPRINT_VERSION = 1
MAX_DEPTH = 64
# Beyond this many zeros a number is written with an exponent: 1e999999999 must not fill the memory.
MAX_ZEROS = 64


class PayloadError(ValueError):
    """A payload that has no single meaning; `code` says why, `field` where (dotted)."""

    def __init__(self, code: str, *, field: str = "") -> None:
        self.code = code
        self.field = field
        super().__init__(f"{code} at {field}" if field else code)


@dataclass(frozen=True)
class FingerprintRules:
    """Dotted paths of fields to leave out and of lists without order; items of a list share its path."""

    ignored: frozenset[str] = frozenset()
    unordered: frozenset[str] = frozenset()


NO_RULES = FingerprintRules()


def parse_payload(body: str | bytes) -> object:
    """Read JSON without losing anything: numbers as Decimal, duplicate names and NaN refused (PayloadError)."""
    try:
        return json.loads(
            body,
            parse_float=Decimal,
            parse_int=Decimal,
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique,
        )
    except PayloadError:
        raise
    except (ValueError, ArithmeticError) as error:
        raise PayloadError("payload_not_json") from error
    except RecursionError as error:
        raise PayloadError("payload_too_deep") from error


def fingerprint(payload: object, *, rules: FingerprintRules = NO_RULES) -> str:
    """Return the fingerprint of a JSON value, 64 hex digits; PayloadError where it has no single meaning."""
    return hashlib.sha256(canonical_bytes(payload, rules=rules)).hexdigest()


def canonical_bytes(payload: object, *, rules: FingerprintRules = NO_RULES) -> bytes:
    """Return the canonical JSON of a value, in UTF-8."""
    return _write(payload, (), rules).encode()


def field_digests(payload: object, *, secret: bytes, rules: FingerprintRules = NO_RULES) -> dict[str, str]:
    """Return an HMAC-SHA-256 per top-level field, to say later which one differs without keeping its value.

    A payload that is no object is one field with an empty name.
    """
    fields = payload if isinstance(payload, Mapping) else {"": payload}
    return {
        name: _digest(name, _write(value, (name,) if name else (), rules), secret=secret)
        for name, value in fields.items()
        if name not in rules.ignored
    }


def differing_fields(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names whose digests differ or that only one side has, sorted."""
    return tuple(sorted(name for name in {*one, *other} if one.get(name) != other.get(name)))


def _digest(name: str, written: str, *, secret: bytes) -> str:
    framed = len(name.encode()).to_bytes(8, "big") + name.encode() + written.encode()
    return hmac.new(secret, framed, hashlib.sha256).hexdigest()


_Path = tuple[str, ...]


def _write(value: object, path: _Path, rules: FingerprintRules, depth: int = 0) -> str:
    if depth > MAX_DEPTH:
        raise PayloadError("payload_too_deep", field=".".join(path[:3]))
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _write_text(value, path)
        case int() | float() | Decimal():
            return _write_number(value, path)
        case Mapping():
            return _write_object(value, path, rules, depth)
        case list() | tuple():
            return _write_list(value, path, rules, depth)
    raise PayloadError("payload_type", field=".".join(path))


def _write_text(value: str, path: _Path) -> str:
    # NUL has a meaning in JSON and is escaped; half a character has none.
    try:
        check_text(value.replace("\x00", ""))
    except TextError as error:
        raise PayloadError(error.code, field=".".join(path)) from error
    return json.dumps(value, ensure_ascii=False)


def _write_number(value: float | Decimal, path: _Path) -> str:
    number = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise PayloadError("payload_number", field=".".join(path))
    figures = "".join(map(str, digits))
    kept = figures.rstrip("0")
    if not kept:
        return "0"
    return "-" * sign + _plain(kept, exponent + len(figures) - len(kept))


def _plain(figures: str, exponent: int) -> str:
    """Write figures * 10**exponent, where figures has no zero at either end."""
    if abs(exponent) > max(MAX_ZEROS, len(figures)):
        return f"{figures}e{exponent}"
    if exponent >= 0:
        return figures + "0" * exponent
    padded = figures.rjust(1 - exponent, "0")
    return f"{padded[:exponent]}.{padded[exponent:]}"


def _write_object(value: Mapping[object, object], path: _Path, rules: FingerprintRules, depth: int) -> str:
    written = []
    for name in _names(value, path):
        inner = (*path, name)
        if ".".join(inner) not in rules.ignored:
            written.append(f"{_write_text(name, inner)}:{_write(value[name], inner, rules, depth + 1)}")
    return "{" + ",".join(written) + "}"


def _names(value: Mapping[object, object], path: _Path) -> list[str]:
    names = [name for name in value if isinstance(name, str)]
    if len(names) != len(value):
        raise PayloadError("payload_name", field=".".join(path))
    return sorted(names)


def _write_list(value: Iterable[object], path: _Path, rules: FingerprintRules, depth: int) -> str:
    items = [_write(item, path, rules, depth + 1) for item in value]
    return "[" + ",".join(sorted(items) if ".".join(path) in rules.unordered else items) + "]"


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, value in pairs:
        if name in fields:
            raise PayloadError("payload_duplicate_name", field=name)
        fields[name] = value
    return fields


def _refuse_constant(_name: str) -> object:
    raise PayloadError("payload_number")
