"""Expected and actual side by side, as text for a screen: without secrets, and with what policy masks masked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dashboard.domain.masking import MASKED, Hiding, hide, hide_text, is_masked
from dashboard.domain.redaction import REDACTED, is_secret_name
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


def checked_differences(expected: Mapping[str, Any] | None, probe: Probe | None, *, hidden: Hiding) -> list[Difference]:
    """Show what the last probe compared as it was compared, and beside it what was expected and not compared."""
    if probe is None or probe.checked is None:
        return differences(expected, probe.actual if probe else None, hidden=hidden)
    checked = [_checked(field, hidden=hidden) for field in probe.checked[:MAX_FIELDS]]
    named = {field.path for field in checked}
    # Without fields to compare, existence was the question: what was seen is shown, and none of it was compared.
    others = differences(expected, None if checked else probe.actual, hidden=hidden)
    return checked + [replace(field, differs=False, compared=False) for field in others if field.path not in named]


def _checked(field: Mapping[str, Any], *, hidden: Hiding) -> Difference:
    path = str(field.get("field"))
    names = {path.removeprefix("expected.").removeprefix("actual.") for path in hidden.redact}
    secret = path in names or is_secret_name(path)
    masked = hide({"field": path, **{side: field.get(side) for side in ("expected", "actual")}}, hidden)
    expected, actual = (REDACTED if secret else _text(masked[side]) for side in ("expected", "actual"))
    return Difference(hide_text(path, hidden), expected, actual, differs=field.get("differs") is True, compared=True)


def differences(
    expected: Mapping[str, Any] | None, actual: Mapping[str, Any] | None, *, hidden: Hiding
) -> list[Difference]:
    """Compare what is stored and show what may be seen: a secret that differs says so without telling its value."""
    sides = hide({"expected": expected or {}, "actual": actual}, hidden)
    shown = {field.path: field for field in compare_fields(_fields(sides["expected"]) or {}, _fields(sides["actual"]))}
    return [
        Difference(
            path=hide_text(field.path, hidden),
            expected=_text(shown[field.path].expected if field.path in shown else _unseen(field.path, hidden)),
            actual=_text(shown[field.path].actual if field.path in shown else _unseen(field.path, hidden)),
            differs=field.differs,
            compared=field.compared,
        )
        for field in compare_fields(expected or {}, actual)[:MAX_FIELDS]
    ]


def _unseen(path: str, hidden: Hiding) -> str:
    return MASKED if is_masked(path, paths=hidden.mask) else REDACTED


def _fields(value: object) -> Mapping[str, object] | None:
    return value if isinstance(value, Mapping) else None


def _text(value: object) -> str:
    if value is None:
        return MISSING
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
