"""The JSON texts of an audit entry, made readable: what changed side by side, and evidence as text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.domain.text import visible


@dataclass(frozen=True)
class Change:
    """A field before and after; None where it was not there."""

    field: str
    before: str | None
    after: str | None

    @property
    def differs(self) -> bool:
        """Whether the two sides are not the same."""
        return self.before != self.after


def changes_of(before: str | None, after: str | None) -> tuple[Change, ...]:
    """Put the fields of both sides beside each other, in the order they are stored."""
    left, right = _fields(before), _fields(after)
    return tuple(Change(visible(name), left.get(name), right.get(name)) for name in dict.fromkeys((*left, *right)))


def pretty(stored: str | None) -> str | None:
    """Give a stored JSON text with line breaks; what cannot be read is shown as it is."""
    if stored is None:
        return None
    try:
        return visible(json.dumps(json.loads(stored), ensure_ascii=False, indent=2))
    except (ValueError, RecursionError):
        return visible(stored)


def _fields(stored: str | None) -> Mapping[str, str]:
    if stored is None:
        return {}
    try:
        read = json.loads(stored)
    except (ValueError, RecursionError):
        return {"": visible(stored)}
    return {name: _shown(value) for name, value in read.items()} if isinstance(read, dict) else {"": _shown(read)}


def _shown(value: Any) -> str:
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
