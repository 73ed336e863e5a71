"""What is wrong with a policy file, by the path of the key: codes for the edges, lines and near misses."""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from dashboard.domain.errors import Problem
from dashboard.domain.text import visible

Path = tuple[str, ...]
Keys = Mapping[int, Sequence[str]]

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(r"'([^']*)'")


def problem(path: Iterable[object], code: str, **details: object) -> Problem:
    """Make the problem of one key; its code begins with `policy_`, as the words differ from those of other files."""
    shown = {name: _shown(value) for name, value in details.items() if value is not None}
    return Problem(dotted(path), f"policy_{code}", shown)


def dotted(path: Iterable[object]) -> str:
    """Write a path as TOML would: `types.charge_order.deadline`, names with other characters in quotes."""
    return ".".join(part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in map(str, path))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Give the known name that was probably meant, if any is close."""
    found = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def problems_of(error: ValidationError, document: Mapping[str, Any], keys: Keys) -> list[Problem]:
    """Turn what pydantic found into problems; `keys` are the keys each table of the document may have."""
    return [_problem_of(dict(found), document, keys) for found in error.errors(include_url=False)]


def located(problems: Iterable[Problem], text: str) -> tuple[Problem, ...]:
    """Add to each problem the line where its key, or the table around it, stands."""
    lines = dict(_lines(text))
    return tuple(sorted((_with_line(found, lines) for found in problems), key=_order))


def _problem_of(found: dict[str, Any], document: Mapping[str, Any], keys: Keys) -> Problem:
    path, table = _path(found["loc"], document, missing=found["type"] == "missing")
    context = found.get("ctx", {})
    match found["type"]:
        case "extra_forbidden":
            allowed = tuple(keys.get(id(table), ()))
            return problem(path, "key_unknown", suggestion=nearest(path[-1], allowed), allowed=allowed)
        case "enum" | "literal_error":
            return _unknown_value(path, str(found["input"]), tuple(_QUOTED.findall(context["expected"])))
        case "union_tag_invalid":
            return _unknown_value((*path, "kind"), context["tag"], tuple(_QUOTED.findall(context["expected_tags"])))
        case "union_tag_not_found":
            return problem((*path, "kind"), "key_missing")
        case "missing":
            return problem(path, "key_missing")
    return problem(path, found["type"], **context)


def _unknown_value(path: Path, value: str, allowed: Sequence[str]) -> Problem:
    return problem(path, "value_unknown", value=value, suggestion=nearest(value, allowed), allowed=allowed)


def _path(loc: Sequence[str | int], document: Any, *, missing: bool) -> tuple[Path, Any]:
    """Follow the location in the document, past what is no key of it, such as the kind of a probe."""
    path: list[str] = []
    here, table = document, document
    for position, part in enumerate(loc):
        is_last = position == len(loc) - 1
        if isinstance(here, dict) and (part in here or (missing and is_last)):
            table, here = here, here.get(part)
        elif isinstance(here, list) and isinstance(part, int):
            table, here = here, here[part]
        else:
            continue
        path.append(str(part))
    return tuple(path), table


def _shown(value: object) -> object:
    return visible(value) if isinstance(value, str) else value


def _lines(text: str) -> Iterator[tuple[str, int]]:
    table: Path = ()
    counts: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.fullmatch(line):
            table = _parts(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, str(counts[table]))
            yield dotted(table), number
        elif key := _KEY.match(line):
            yield dotted((*table, *_parts(key[1]))), number


def _parts(name: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(name))


def _with_line(found: Problem, lines: Mapping[str, int]) -> Problem:
    path = found.field
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return Problem(found.field, found.code, {**found.details, "line": lines[path]}) if path else found


def _order(found: Problem) -> tuple[int, str]:
    line = found.details.get("line")
    return (line if isinstance(line, int) else 0, found.field)
