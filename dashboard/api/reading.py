"""Reading a request strictly: what does not fit the published schema is refused before anything is looked up.

A body is read twice: once for what JSON leaves open (a name given twice, NaN, numbers that a computer would round), and
once into its model.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from flask import g, request
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import UnsupportedMediaType

from dashboard.api.describing import Parameter
from dashboard.api.problems import SchemaError
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.fingerprint import PayloadError, parse_payload
from dashboard.domain.text import TextError, check_text
from dashboard.edge.filters import Args

Model = TypeVar("Model", bound=BaseModel)
MOST_DIGITS = 300
SHORT = 18
# What pydantic says of a field, by the ends of its error types, in codes that stay when it changes its own.
CODES = (
    ("missing", "field_missing"),
    ("extra_forbidden", "field_unknown"),
    ("_pattern_mismatch", "field_form"),
    ("_type", "field_type"),
    ("too_long", "field_size"),
    ("too_short", "field_size"),
    ("greater_than", "field_range"),
    ("greater_than_equal", "field_range"),
    ("less_than", "field_range"),
    ("less_than_equal", "field_range"),
    ("literal_error", "field_choice"),
    ("enum", "field_choice"),
)


def read_body(model: type[Model]) -> Model:
    """Read the body into its model; raises SchemaError, and InvalidInputError for what no schema can say."""
    if request.mimetype != "application/json":
        raise UnsupportedMediaType
    raw = request.get_data()
    try:
        payload = parse_payload(raw)
    except PayloadError as error:
        raise SchemaError((Problem(error.field or "body", error.code),)) from error
    if unkept := tuple(_unkept(payload, ())):
        raise InvalidInputError(unkept)
    try:
        read = model.model_validate_json(json.dumps(_plain(payload)), strict=True)
    except ValidationError as error:
        raise SchemaError(tuple(_problems(error))) from error
    g.sent = payload
    return read


def sent() -> dict[str, Any]:
    """Give the body as it was sent, every number exact, after `read_body`; nothing for a request without one."""
    found: dict[str, Any] = g.get("sent", {})
    return found


def check_query(args: Args, parameters: Sequence[Parameter]) -> None:
    """Refuse parameters that are unknown, empty, missing, or given twice where once is meant: a slip widens a list."""
    known = {parameter.name: parameter for parameter in parameters}
    problems = [Problem(name, "parameter_unknown") for name in args if name not in known]
    for name, parameter in known.items():
        given = args.getlist(name)
        if parameter.required and not given:
            problems.append(Problem(name, "parameter_missing"))
        if not all(given):
            problems.append(Problem(name, "parameter_empty"))
        elif len(given) > 1 and not parameter.repeated:
            problems.append(Problem(name, "parameter_twice"))
    if problems:
        raise SchemaError(problems)


def _problems(error: ValidationError) -> Iterator[Problem]:
    for found in error.errors(include_input=False, include_url=False):
        code = next((code for end, code in CODES if found["type"].endswith(end)), "field_invalid")
        yield Problem(".".join(map(str, found["loc"])) or "body", code, {"message": found["msg"]})


def _plain(value: object) -> object:
    """JSON knows one kind of number: 1.0 is the whole number 1."""
    match value:
        case Decimal():
            whole = value.as_tuple().exponent == 0 or (value == value.to_integral_value() and value.adjusted() < SHORT)
            return int(value) if whole else float(value)
        case Mapping():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
    return value


def _unkept(value: object, path: tuple[str, ...]) -> Iterator[Problem]:
    """What no engine stores as it was sent: odd characters, and numbers beyond what JSON readers agree on."""
    match value:
        case str():
            yield from _text(value, path)
        case Decimal() if not _is_exact(value):
            yield Problem(".".join(path) or "body", "number_lost")
        case Mapping():
            for name, inner in value.items():
                yield from _text(name, path)
                yield from _unkept(inner, (*path, name))
        case list():
            for index, inner in enumerate(value):
                yield from _unkept(inner, (*path, str(index)))


def _text(value: str, path: tuple[str, ...]) -> Iterator[Problem]:
    try:
        check_text(value)
    except TextError as error:
        yield Problem(".".join(path) or "body", error.code)


def _is_exact(number: Decimal) -> bool:
    if number.as_tuple().exponent == 0:
        return len(number.as_tuple().digits) <= MOST_DIGITS
    return number.is_finite() and Decimal(repr(float(number))) == number
