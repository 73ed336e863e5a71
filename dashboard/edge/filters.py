"""The query string of a list: read strictly, and written so that all state of a list is in its address.

Every `parse_*` takes `request.args`. A missing or empty parameter says nothing, because forms send empty fields.
A value that cannot be read raises InvalidInputError whose Problem names the parameter; the answer is 400 with a page
that says what is allowed and links to the list without it. Unknown parameters stay in addresses and mean nothing.

    position = parse_position(request.args)
    states = parse_choice_set(request.args, "state", STATES)
    previous_url, next_url = page_urls(page)
    chip_url = url_without("state", "pending")
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NoReturn
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

from flask import request
from werkzeug.datastructures import MultiDict

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.text import TextError, check_text, visible
from dashboard.queries.keyset import DEFAULT_LIMIT, MAX_LIMIT, Page, Position

CURSORS = ("after", "before")
MAX_TEXT = 500
ME = "me"
LONGEST_EMAIL = 254
SHOWN = 120
AGE = re.compile(r"(\d{1,10})([smhdw]?)", re.ASCII)
UNITS = {"": "seconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
OLDEST = timedelta(days=36525)
YEARS = range(1900, 9999)

Args = MultiDict[str, str]


def parse_position(args: Args) -> Position:
    """Read `after`, `before` and `limit` (1 to 200, 50 without it); a cursor itself is checked by the query."""
    after, before = parse_text(args, "after", maximum=4096), parse_text(args, "before", maximum=4096)
    if after and before:
        refuse("before", "cursor_twice", before)
    limit = parse_text(args, "limit")
    if limit is None:
        return Position(after, before, DEFAULT_LIMIT)
    if not re.fullmatch(r"\d{1,3}", limit, re.ASCII) or not 1 <= int(limit) <= MAX_LIMIT:
        refuse("limit", "limit_invalid", limit, maximum=MAX_LIMIT)
    return Position(after, before, int(limit))


def parse_text(args: Args, name: str, *, maximum: int = MAX_TEXT) -> str | None:
    """Read one text of at most `maximum` characters, without the blanks around it."""
    value = args.get(name, "").strip()
    return _checked(name, value, maximum=maximum) if value else None


def parse_text_set(args: Args, name: str, *, maximum: int = MAX_TEXT) -> frozenset[str]:
    """Read a parameter that may repeat and takes any text, compared as it is written."""
    return frozenset(_checked(name, value, maximum=maximum) for value in args.getlist(name) if value)


def parse_person(args: Args, name: str, *, me: str) -> str | None:
    """Read a person's e-mail; `me` stands for who asks."""
    who = parse_text(args, name, maximum=LONGEST_EMAIL)
    return me if who == ME else who


def parse_choice_set(args: Args, name: str, allowed: Iterable[str]) -> frozenset[str]:
    """Read a parameter that may repeat and takes only these values."""
    known = [str(option) for option in allowed]
    values = frozenset(value for value in args.getlist(name) if value)
    for value in sorted(values - set(known)):
        refuse(name, "filter_unknown", value, allowed=tuple(known))
    return values


def parse_choice(args: Args, name: str, allowed: Iterable[str]) -> str | None:
    """Read a parameter that takes one of these values."""
    known = [str(option) for option in allowed]
    value = args.get(name) or None
    if value is not None and value not in known:
        refuse(name, "filter_unknown", value, allowed=tuple(known))
    return value


def parse_flag(args: Args, name: str) -> bool:
    """Read a parameter that is 1 or is not there; 0 says no as well."""
    return parse_choice(args, name, ("1", "0")) == "1"


def parse_age(args: Args, name: str) -> timedelta | None:
    """Read a length of time: `90s`, `15m`, `2h`, `3d`, `2w`, or plain seconds; at most a hundred years."""
    value = parse_text(args, name)
    if value is None:
        return None
    found = AGE.fullmatch(value)
    # Compared before it is made: ten digits of weeks are more than a timedelta holds.
    if not found or int(found[1]) > OLDEST / timedelta(**{UNITS[found[2]]: 1}):
        refuse(name, "age_invalid", value)
    return timedelta(**{UNITS[found[2]]: int(found[1])})


def parse_moment(args: Args, name: str, *, zone: ZoneInfo) -> datetime | None:
    """Read a time in ISO 8601, as UTC; a date is the start of its day, and what names no zone is in the person's."""
    value = parse_text(args, name)
    if value is None:
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        refuse(name, "moment_invalid", value)
    if read.year not in YEARS:
        refuse(name, "moment_invalid", value)
    return (read if read.tzinfo else read.replace(tzinfo=zone)).astimezone(UTC)


def written_age(age: timedelta) -> str:
    """Write a length of time as `parse_age` reads it, in the largest unit that is exact."""
    seconds = int(age.total_seconds())
    for unit, size in (("w", 604800), ("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def refuse(name: str, code: str, value: str, **details: object) -> NoReturn:
    """Refuse a parameter; its value is made visible and cut to what a sentence can hold."""
    shown = visible(value[:SHOWN]) + ("…" if len(value) > SHOWN else "")
    raise InvalidInputError((Problem(name, code, {"value": shown, **details}),))


def url_with(**changes: object) -> str:
    """Give the address of this page with some parameters changed.

    None takes a parameter away, a list writes it several times. The page of the list is left for its first one unless
    `after` or `before` is among the changes.
    """
    kept = {name: values for name, values in request.args.lists() if name not in CURSORS and name not in changes}
    return _address({**kept, **{name: _texts(value) for name, value in changes.items()}})


def url_without(name: str, value: str | None = None, **changes: object) -> str:
    """Give the address of this page without a parameter, or without one of its values, and with other changes."""
    rest = [other for other in request.args.getlist(name) if value is not None and other != value]
    return url_with(**{name: rest, **changes})


def page_urls(page: Page) -> tuple[str | None, str | None]:
    """Give the addresses of the pages before and behind this one; None where there is none."""
    return (
        url_with(before=page.previous) if page.previous else None,
        url_with(after=page.next) if page.next else None,
    )


def _checked(name: str, value: str, *, maximum: int) -> str:
    if len(value) > maximum:
        refuse(name, "text_too_long", value, maximum=maximum, length=len(value))
    try:
        return check_text(value)
    except TextError:
        refuse(name, "text_unsearchable", value)


def _texts(value: object) -> Sequence[str]:
    if value is None:
        return ()
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else [str(value)]


def _address(parameters: Mapping[str, Sequence[str]]) -> str:
    pairs = [(name, value) for name, values in parameters.items() for value in values if value]
    path = quote(request.script_root + request.path)
    return f"{path}?{urlencode(pairs)}" if pairs else path
