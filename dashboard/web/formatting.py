"""Jinja filters: how times, durations, money and hostile text are shown to the person who looks."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from functools import lru_cache
from math import inf
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from babel import Locale, numbers
from babel.dates import TIMEDELTA_UNITS, format_timedelta
from flask import Flask, g
from jinja2 import Template

from dashboard.domain.text import visible
from dashboard.queries.totals import Total
from dashboard.services.users import Person
from dashboard.web import wording
from dashboard.web.context import person
from dashboard.web.labels import label
from dashboard.web.language import gettext, language

JUST_NOW = timedelta(seconds=45)
UNIT_FROM = 1.5
# A unit is taken once there are this many of it: "90 minutes" tells more than "2 hours".
UNITS = (("w", 7 * 86400), ("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
EXACT_BELOW_SECONDS = 600
DIGITS = 40
# https://html.spec.whatwg.org/multipage/parsing.html#preprocessing-the-input-stream
PRINTABLE = "\t\n\f\r -~\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd" + "".join(
    f"{chr(plane << 16)}-{chr(plane << 16 | 0xFFFD)}" for plane in range(1, 17)
)
ALL_PRINTABLE = re.compile(f"[{PRINTABLE}]*+")
UNPRINTABLE = re.compile(f"[^{PRINTABLE}]")
NONE = "\N{EN DASH}"


class PrintableTemplate(Template):
    """A template whose page has no character that HTML does not allow: they are spelled out."""

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Give the page; one look at all of it takes a tenth of the time of a look at each of its thousand parts."""
        return printable(super().render(*args, **kwargs))


def install(app: Flask) -> None:
    """Make the filters known to templates."""
    app.jinja_env.template_class = PrintableTemplate
    app.add_template_filter(visible, "visible")
    app.add_template_filter(lambda part: part, "as_one")
    for kept in (utc, ago, moment_title, clock_time, duration, money, number, counted, percent):
        app.add_template_filter(kept)
    app.add_template_filter(lambda value, kind: label(kind, value), "label")
    app.add_template_filter(wording.in_words, "in_words")
    app.add_template_filter(wording.field_name, "field_name")


def printable(page: str) -> str:
    """Spell out the characters that no HTML page may have."""
    if ALL_PRINTABLE.fullmatch(page):
        return page
    return UNPRINTABLE.sub(lambda found: _escape(ord(found[0])), page)


def _escape(number: int) -> str:
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004 - the end of four digits


def utc(at: datetime) -> str:
    """Give the machine's form for `<time datetime>`: ISO 8601 in UTC, ending in Z."""
    in_utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return f"{in_utc.isoformat(timespec='microseconds').removesuffix('+00:00')}Z"


def ago(at: datetime) -> str:
    """Give the time from now for scanning: "3 hours ago", "in 5 minutes"."""
    distance = at - _now()
    if abs(distance) < JUST_NOW:
        return gettext("just now")
    return _distance(*_rounded(distance), locale=language().locale)


def _rounded(distance: timedelta) -> tuple[str, int]:
    """The largest unit of which there is one and a half, and how many of it: equal ones read alike."""
    seconds = distance // timedelta(seconds=1)
    unit, size = next((each for each in TIMEDELTA_UNITS if abs(seconds) >= each[1] * UNIT_FROM), TIMEDELTA_UNITS[-1])
    return unit, round(seconds / size) * size


@lru_cache(maxsize=2048)
def _distance(unit: Any, seconds: int, *, locale: Locale) -> str:
    # Babel takes fifty times as long, once a row of every list.
    return format_timedelta(
        timedelta(seconds=seconds), granularity=unit, threshold=inf, add_direction=True, format="long", locale=locale
    )


def moment_title(at: datetime) -> str:
    """Give the exact time in the person's zone, to the second, with the zone's name."""
    local = at.astimezone(person_zone())
    return f"{_minute(local)}:{local.second:02} {local.tzname() or local.tzinfo}"


def clock_time(at: datetime) -> str:
    """Give the time to the minute in the person's zone, for tables of history."""
    return _minute(at.astimezone(person_zone()))


def duration(length: timedelta | float | None) -> str:
    """Give a length of time in its two largest units ("2 d 4 h"); seconds only where they tell something."""
    if length is None:
        return NONE
    seconds = int(length.total_seconds() if isinstance(length, timedelta) else length)
    sign, seconds = ("-" if seconds < 0 else ""), abs(seconds)
    if seconds >= EXACT_BELOW_SECONDS:
        seconds -= seconds % 60
    return sign + _in_two_units(seconds)


@lru_cache(maxsize=10_000)
def _in_two_units(seconds: int) -> str:
    parts: list[str] = []
    for name, size in UNITS[1:]:
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append(f"{count} {name}" if count else "")
    return " ".join(part for part in parts[:2] if part) or "0 s"


def money(amount: str | Decimal | None, currency: str | None) -> str:
    """Give an exact amount as the person's language writes it; what is no amount is shown as it is."""
    if amount is None:
        return NONE
    try:
        exact = Decimal(amount)
    except InvalidOperation:
        exact = Decimal("NaN")
    if not exact.is_finite():
        return visible(f"{amount} {currency or ''}".strip())
    with localcontext(prec=DIGITS):  # 24 digits before the point and 6 behind are more than the usual 28
        if currency and currency.isalpha():
            return language().numerals.money(exact, currency)
        shown = numbers.format_decimal(exact, locale=language().locale, decimal_quantization=False)
    return visible(f"{shown} {currency or ''}".strip())


def number(value: float | Decimal | None) -> str:
    """Give a number as the person's language writes it; a dash for none."""
    return NONE if value is None else language().numerals.number(value)


def counted(total: Total) -> str:
    """Give how many there are: "10,000+" where counting stopped."""
    return number(total.value) + ("+" if total.capped else "")


def percent(share: float | None) -> str:
    """Give a share of one as a percentage with one digit; a dash for none."""
    return NONE if share is None else str(numbers.format_percent(share, "0.0%", locale=language().locale))


def person_zone() -> ZoneInfo:
    """Give the zone the person reads times in; UTC by default, and where their zone no longer exists."""
    try:
        found: ZoneInfo = g.zone
    except AttributeError:
        found = g.zone = _zone_of(person())
    return found


def _zone_of(who: Person | None) -> ZoneInfo:
    try:
        return ZoneInfo(who.timezone if who and who.timezone else "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def _minute(local: datetime) -> str:
    # A pattern of Babel gives the same and takes twenty times as long, twice a row of every list.
    month = language().months[local.month]
    return f"{local.day} {month} {local.year}, {local.hour:02}:{local.minute:02}"


def _now() -> datetime:
    # One now a request, so that equal times read alike.
    try:
        found: datetime = g.shown_at
    except AttributeError:
        found = g.shown_at = datetime.now(UTC)
    return found
