"""Expected and actual side by side, as text for a screen and without their secrets."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dashboard.domain.redaction import REDACTED, is_secret_name, redact_fields, redact_text
from dashboard.domain.verdicts import compare_fields
from dashboard.queries.history import Probe

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


def checked_differences(
    expected: Mapping[str, Any] | None, probe: Probe | None, *, hidden: Iterable[str]
) -> list[Difference]:
    """Show what the last probe compared as it was compared, and beside it what was expected and not compared."""
    paths = tuple(hidden)
    if probe is None or probe.checked is None:
        return differences(expected, probe.actual if probe else None, hidden=paths)
    names = {path.removeprefix("expected.").removeprefix("actual.") for path in paths}
    checked = [_checked(field, hidden=names) for field in probe.checked[:MAX_FIELDS]]
    named = {field.path for field in checked}
    # Without fields to compare, existence was the question: what was seen is shown, and none of it was compared.
    others = differences(expected, None if checked else probe.actual, hidden=paths)
    return checked + [replace(field, differs=False, compared=False) for field in others if field.path not in named]


def _checked(field: Mapping[str, Any], *, hidden: Collection[str]) -> Difference:
    path = str(field.get("field"))
    secret = path in hidden or is_secret_name(path)
    expected, actual = (REDACTED if secret else _text(field.get(side)) for side in ("expected", "actual"))
    return Difference(redact_text(path), expected, actual, differs=field.get("differs") is True, compared=True)


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
