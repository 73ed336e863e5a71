"""JSON from a file, kept exactly as it was written or refused.

Refused are: text that is not UTF-8, a name that appears twice, NaN, numbers that would be rounded, NUL and lone
surrogates in any text, and what is nested too deep.
"""

import json
import math
from decimal import Decimal
from typing import Any

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.redaction import MAX_DEPTH
from dashboard.domain.text import TextError, check_text

# What comes is bounded, so that a file without line ends cannot fill the memory.
MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_DIGITS = 40


def read_object(text: bytes) -> dict[str, Any]:
    """Read one JSON object; InvalidInputError with one Problem for each bad field, an empty name for the whole."""
    fields = _decode(text)
    _refuse_unstorable(fields)
    return fields


def _decode(text: bytes) -> dict[str, Any]:
    if len(text) > MAX_LINE_BYTES:
        raise _refused("line_too_long", maximum=MAX_LINE_BYTES)
    try:
        fields = json.loads(
            text.decode(),
            object_pairs_hook=_unique,
            parse_float=_exact_float,
            parse_int=_bounded_int,
            parse_constant=_not_a_number,
        )
    except UnicodeDecodeError as error:
        raise _refused("not_utf8", position=error.start + 1) from error
    except json.JSONDecodeError as error:
        raise _refused("not_json", reason=error.msg, column=error.colno) from error
    except RecursionError as error:
        raise _refused("too_deep", maximum=MAX_DEPTH) from error
    if not isinstance(fields, dict):
        raise _refused("not_an_object")
    return fields


def _refused(code: str, **details: object) -> InvalidInputError:
    return InvalidInputError((Problem("", code, details),))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError((Problem(twice, "duplicate_name"),))
    return fields


# A number that cannot be kept as written becomes NaN, which the walk below refuses where it stands.
def _exact_float(written: str) -> float:
    number = float(written)
    exact = math.isfinite(number) and Decimal(repr(number)) == Decimal(written)
    return number if exact else math.nan


def _bounded_int(written: str) -> float:
    return int(written) if len(written) <= MAX_DIGITS else math.nan


def _not_a_number(_name: str) -> float:
    return math.nan


def _refuse_unstorable(fields: dict[str, Any]) -> None:
    problems = [problem for name, value in fields.items() if (problem := _unstorable(name, value))]
    if problems:
        raise InvalidInputError(problems)


def _unstorable(name: str, value: object) -> Problem | None:
    try:
        check_text(name)
        _walk(value, 1)
    except TextError as error:
        return Problem(name, error.code)
    except ArithmeticError:
        return Problem(name, "number_lost")
    except RecursionError:
        return Problem(name, "too_deep", {"maximum": MAX_DEPTH})
    return None


def _walk(value: object, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, float) and math.isnan(value):
        raise ArithmeticError
    elif isinstance(value, dict):
        for name, item in value.items():
            check_text(name)
            _walk(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _walk(item, depth + 1)
