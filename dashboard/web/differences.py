"""Expected and actual side by side, as text for a screen and without their secrets."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.domain.redaction import REDACTED, redact_fields, redact_text
from dashboard.domain.verdicts import compare_fields

MISSING = "\N{EN DASH}"
MAX_FIELDS = 200
LONGEST_VALUE = 500


@dataclass(frozen=True)
class Difference:
    """One field: `compared` is False where nothing was expected of it or nothing was seen yet."""

    path: str
    expected: str
    actual: str
    differs: bool
    compared: bool


def differences(
    expected: Mapping[str, Any] | None, actual: Mapping[str, Any] | None, *, hidden: Iterable[str]
) -> list[Difference]:
    """Compare what is stored and show what may be seen: a secret that differs says so without telling its value."""
    sides = redact_fields({"expected": expected or {}, "actual": actual}, paths=hidden)
    shown = {field.path: field for field in compare_fields(_fields(sides["expected"]) or {}, _fields(sides["actual"]))}
    return [
        Difference(
            path=redact_text(field.path),
            expected=_text(shown[field.path].expected if field.path in shown else REDACTED),
            actual=_text(shown[field.path].actual if field.path in shown else REDACTED),
            differs=field.differs,
            compared=field.compared,
        )
        for field in compare_fields(expected or {}, actual)[:MAX_FIELDS]
    ]


def _fields(value: object) -> Mapping[str, object] | None:
    return value if isinstance(value, Mapping) else None


def _text(value: object) -> str:
    if value is None:
        return MISSING
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
