"""The values of a policy file: how durations, amounts, expressions and references to the environment are written."""

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import urlsplit

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
LONGEST = timedelta(days=36_500)
MAX_NAME = 64
PLACEHOLDERS = ("operation_id", "tenant", "type", "entity_type", "entity_id", "remote_id", "idempotency_key")

_DURATION = re.compile(r"([0-9]{1,9})([smhd])")
_CURRENCY = re.compile(r"[A-Z]{3}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENTRY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_EXPECTED = re.compile(r"expected\.[^.]+")
_BRACES = re.compile(r"\{([^{}]*)\}")
# A colon that follows another one is a cast of PostgreSQL, one inside a word belongs to a time.
_BIND = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")


class Table(BaseModel):
    """A table of the file: it knows all its keys, and notes them for whoever explains an unknown one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _note_keys(cls, given: Any, info: ValidationInfo) -> Any:
        if isinstance(given, dict) and isinstance(info.context, dict):
            info.context[id(given)] = tuple(field.alias or name for name, field in cls.model_fields.items())
        return given

    def given(self) -> dict[str, Any]:
        """What the file says itself, without what it leaves to defaults."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


VariableName = Annotated[str, AfterValidator(lambda name: checked(name, _VARIABLE, "variable_invalid"))]


class Variable(Table):
    """The name of an environment variable, from which a secret is read when it is needed."""

    env: VariableName


class Text(Table):
    """A text of the file, or of an environment variable with a text of the file in its place."""

    env: VariableName | None = None
    default: str | None = None


def checked(text: str, pattern: re.Pattern[str], code: str) -> str:
    """Give the text if it is written so; raises a problem with the code otherwise."""
    if not pattern.fullmatch(text):
        raise refuse(code, value=text)
    return text


def refuse(code: str, **details: object) -> PydanticCustomError:
    """Make the problem of a value; the words for its code are found at the edge."""
    return PydanticCustomError(code, "refused", details)


def read_duration(given: object) -> timedelta:
    """Read a whole number and a unit: `30s`, `5m`, `2h`, `400d`."""
    written = _DURATION.fullmatch(given) if isinstance(given, str) else None
    if written is None:
        raise refuse("duration_invalid", value=str(given), suggestion=_suggested_duration(given))
    seconds = timedelta(**{UNITS[written[2]]: 1}).total_seconds() * int(written[1])
    if seconds > LONGEST.total_seconds():
        raise refuse("duration_too_long", value=written[0], maximum=f"{LONGEST.days}d")
    return timedelta(seconds=seconds)


def read_decimal(given: object) -> Decimal:
    """Read an exact number: text in quotes, a whole number, or one with a point (which TOML keeps exact here)."""
    if isinstance(given, str) and re.fullmatch(r"-?[0-9]{1,24}(\.[0-9]{1,12})?", given):
        return Decimal(given)
    if isinstance(given, int | Decimal) and not isinstance(given, bool) and Decimal(given).is_finite():
        return Decimal(given)
    raise refuse("decimal_invalid", value=str(given))


def _suggested_duration(given: object) -> str | None:
    found = re.fullmatch(r"\s*([0-9]{1,9})\s*(s|m|h|d)?[a-z]*\s*", str(given), re.IGNORECASE)
    if found is None or isinstance(given, bool) or str(given).strip().lower().endswith(("ms", "mo", "month", "months")):
        return None
    return f"{found[1]}{(found[2] or 's').lower()}"


def _positive(length: timedelta) -> timedelta:
    if not length:
        raise refuse("duration_zero")
    return length


def _amount(number: Decimal) -> Decimal:
    if number < 0:
        raise refuse("amount_negative", value=str(number))
    return number


def _factor(number: Decimal) -> float:
    if not 1 <= number <= 100:  # noqa: PLR2004 - a wait that shrinks, or that jumps to its cap at once
        raise refuse("factor_invalid", value=str(number))
    return float(number)


def read_expression(text: str, *, of: str | None = None) -> str:
    """Give the JMESPath expression if it parses; `of` names the field it is for where the key does not."""
    try:
        parsed = jmespath.compile(text)
        with suppress(JMESPathTypeError):  # there is nothing yet to compute with
            parsed.search({})
    except JMESPathError as error:
        reason = str(error).strip().splitlines()[0].rstrip(":.")
        raise refuse("expression_invalid", value=text, of=of, reason=reason) from error
    return text


def _name(text: str) -> str:
    if not 1 <= len(text) <= MAX_NAME or not text.isprintable() or text != text.strip():
        raise refuse("name_invalid", value=text, maximum=MAX_NAME)
    return text


def _known(names: Iterable[str]) -> None:
    for name in names:
        if name not in PLACEHOLDERS:
            raise refuse("placeholder_unknown", value=name, allowed=PLACEHOLDERS)


def _template(path: str) -> str:
    if not path.startswith("/") or path.startswith("//") or not path.isprintable() or " " in path:
        raise refuse("path_invalid", value=path)
    _known(name for name in _BRACES.findall(path) if not _EXPECTED.fullmatch(name))
    if "{" in (rest := _BRACES.sub("", path)) or "}" in rest:
        raise refuse("braces_unbalanced", value=path)
    if not _BRACES.search(path):
        raise refuse("placeholder_missing", allowed=PLACEHOLDERS)
    return path


def _query(statement: str) -> str:
    text = statement.strip().removesuffix(";")
    if ";" in text or not re.match(r"(select|with)\b", text, re.IGNORECASE):
        raise refuse("query_not_reading")
    binds = _BIND.findall(re.sub(r"'[^']*'", "''", text))
    _known(binds)
    if not binds:
        raise refuse("placeholder_missing", allowed=tuple(f":{name}" for name in PLACEHOLDERS))
    return text


def is_web_address(text: str) -> bool:
    """Tell whether this is an http(s) address with a host, without user, query or fragment."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    extra = parts.username or parts.password or parts.query or parts.fragment
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not extra and text.isprintable()


def _as_text(given: object) -> object:
    return {"default": given} if isinstance(given, str) else given


Duration = Annotated[timedelta, BeforeValidator(read_duration)]
Wait = Annotated[Duration, AfterValidator(_positive)]
Exact = Annotated[Decimal, BeforeValidator(read_decimal)]
Amount = Annotated[Exact, AfterValidator(_amount)]
Factor = Annotated[Any, BeforeValidator(read_decimal), AfterValidator(_factor)]
Expression = Annotated[str, AfterValidator(read_expression)]
Name = Annotated[str, AfterValidator(_name)]
Currency = Annotated[str, AfterValidator(lambda text: checked(text, _CURRENCY, "currency_invalid"))]
Template = Annotated[str, AfterValidator(_template)]
Query = Annotated[str, AfterValidator(_query)]
Entry = Annotated[str, AfterValidator(lambda text: checked(text, _ENTRY, "entry_invalid"))]
TextValue = Annotated[Text, BeforeValidator(_as_text)]
Count = Annotated[StrictInt, Field(ge=0, le=5)]
