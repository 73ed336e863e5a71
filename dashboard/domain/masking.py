"""Fields that are kept and yet not shown: policy names them, and only who reveals one sees its value.

A path of the policy such as `expected.customer.email` names a field by what follows `expected.`, `actual.`, `evidence.`
or `body.`; the field is masked wherever a path ends in it: on either side, in evidence, snapshots, bodies and messages.
Names are compared as redaction does, so `customerEmail` is `customer_email`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.domain.redaction import MAX_DEPTH, fold, redact_fields, redact_text

MASKED = "\N{BULLET}" * 4
ROOTS = ("expected", "actual", "evidence", "body")
# What is shorter is found inside of words that have nothing to do with it.
SHORTEST_TEXT, SHORTEST_NUMBER = 4, 6
_INDEX = re.compile(r"\[[^\]]*\]")
_WORD = re.compile(r"[\w-]+")
_SIDES = frozenset({"expected", "actual"})

Path = tuple[str, ...]


@dataclass(frozen=True)
class Hiding:
    """What is kept from sight: `redact` paths, `mask` paths, and the masked `values` that free text may hold."""

    redact: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


def hiding_of(*, redact: Iterable[str], mask: Iterable[str], sides: Iterable[object] = ()) -> Hiding:
    """What to keep from sight of an operation; `sides` are the objects whose masked values free text may repeat."""
    paths = tuple(mask)
    return Hiding(tuple(redact), paths, masked_values(*sides, paths=paths) if paths else ())


def hide(fields: Mapping[str, Any], hiding: Hiding) -> dict[str, Any]:
    """Take out secrets and mask what policy masks; what is left may be shown to whoever may see the operation."""
    shown = mask(redact_fields(fields, paths=hiding.redact), paths=hiding.mask, values=hiding.values)
    return dict(shown) if isinstance(shown, Mapping) else {}


def hide_text(text: str, hiding: Hiding) -> str:
    """Take secrets and masked values out of free text."""
    return _without_values(redact_text(text), hiding.values)


def mask(value: object, *, paths: Iterable[str], values: Iterable[str] = ()) -> object:
    """Return a copy of a JSON value in which masked fields read `••••`; what is nested too deep is masked whole."""
    hidden = _hidden(paths)
    return _mask(value, (), hidden, tuple(values), 0) if hidden else value


def mask_body(text: str, *, paths: Iterable[str], values: Iterable[str] = ()) -> str:
    """Mask the fields of a JSON text; one that cannot be taken apart is masked whole where anything is masked."""
    hidden = tuple(paths)
    if not hidden:
        return text
    try:
        return json.dumps(mask(json.loads(text), paths=hidden, values=values), ensure_ascii=False)
    except (ValueError, RecursionError):
        return MASKED


def is_masked(path: str, *, paths: Iterable[str]) -> bool:
    """Tell whether a dotted path ends in a field that policy masks, or lies inside of one."""
    return _lies_in(_names(path), _hidden(paths))


def reads_masked(expression: str, *, paths: Iterable[str]) -> bool:
    """Tell whether an expression may read a masked field: it has the field's own name in it."""
    words = set(map(fold, _WORD.findall(expression)))
    return any(path[-1] in words for path in _hidden(paths))


def masked_fields(value: object, *, paths: Iterable[str]) -> dict[str, object]:
    """The masked fields that a JSON value has, by dotted path, with their values."""
    return {".".join(path): found for path, found in _walk(value, (), _hidden(paths), 0)}


def masked_values(*sides: object, paths: Iterable[str]) -> tuple[str, ...]:
    """The texts of masked fields, the longest first, so that none is left behind inside of another."""
    hidden = tuple(paths)
    found = {text for side in sides for value in masked_fields(side, paths=hidden).values() for text in _texts(value)}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def _hidden(paths: Iterable[str]) -> frozenset[Path]:
    return frozenset(_tail(path) for path in paths)


def _tail(path: str) -> Path:
    root, _, rest = path.partition(".")
    return _names(rest if rest and root in ROOTS else path)


def _names(path: str) -> Path:
    return tuple(fold(_INDEX.sub("", name)) for name in path.split("."))


def _lies_in(path: Path, hidden: frozenset[Path]) -> bool:
    return any(path[:length][-len(names) :] == names for names in hidden for length in range(1, len(path) + 1))


def _mask(value: object, path: Path, hidden: frozenset[Path], values: tuple[str, ...], depth: int) -> object:
    if isinstance(value, str):
        return _without_values(value, values)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth >= MAX_DEPTH:
        return MASKED
    if not isinstance(value, Mapping):
        return [_mask(item, path, hidden, values, depth + 1) for item in value]
    kept: dict[str, object] = {}
    for key, item in value.items():
        inner = _inner(path, str(key), value)
        masked = item is not None and _lies_in(inner, hidden)
        kept[_without_values(str(key), values)] = MASKED if masked else _mask(item, inner, hidden, values, depth + 1)
    return kept


def _inner(path: Path, key: str, among: Mapping[str, object]) -> Path:
    """The path of an item; the two sides of a difference have that of the field which it names."""
    field = among.get("field")
    return _names(field) if key in _SIDES and isinstance(field, str) else (*path, *_names(key))


def _walk(value: object, path: Path, hidden: frozenset[Path], depth: int) -> Iterator[tuple[Path, object]]:
    if depth >= MAX_DEPTH or not isinstance(value, Mapping | list | tuple):
        return
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
    for key, item in pairs:
        inner = (*path, str(key)) if isinstance(value, Mapping) else (*path[:-1], f"{path[-1] if path else ''}[{key}]")
        if isinstance(value, Mapping) and item is not None and _lies_in(_names(".".join(inner)), hidden):
            yield inner, item
        else:
            yield from _walk(item, inner, hidden, depth + 1)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool):
        text = str(value)
        if len(text) >= (SHORTEST_TEXT if isinstance(value, str) else SHORTEST_NUMBER):
            yield text


def _without_values(text: str, values: Iterable[str]) -> str:
    for value in values:
        text = text.replace(value, MASKED)
    return text
