from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from babel import Locale
from babel.dates import format_datetime, format_timedelta
from babel.numbers import format_currency, format_decimal, get_currency_precision
from babel.support import NullTranslations
from flask import Flask, g, render_template_string
from hypothesis import given
from hypothesis.strategies import decimals, integers, sampled_from, timedeltas
from markupsafe import Markup

from dashboard.queries.totals import Total
from dashboard.services.users import Person
from dashboard.web import formatting
from dashboard.web.language import Language, speak
from dashboard.web.numerals import Numerals

AT = datetime(2026, 11, 30, 23, 5, 9, 123457, tzinfo=UTC)
ANA = Person(1, "ana@shop.example", 1, "en", None, "system", shortcuts=True, disabled_at=None, grants=())


@pytest.fixture(autouse=True)
def request_of_ana(app: Flask) -> Iterator[None]:
    with app.test_request_context():
        g.person = ANA
        g.shown_at = AT
        yield


def test_machines_read_times_in_utc() -> None:
    madrid = AT.astimezone(ZoneInfo("Europe/Madrid"))
    assert formatting.utc(madrid) == "2026-11-30T23:05:09.123457Z"


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        (None, "30 Nov 2026, 23:05:09 UTC"),
        ("Europe/Madrid", "1 Dec 2026, 00:05:09 CET"),
        ("Asia/Kathmandu", "1 Dec 2026, 04:50:09 +0545"),
        ("No/Such_Zone", "30 Nov 2026, 23:05:09 UTC"),
    ],
)
def test_people_read_times_in_their_zone(zone: str | None, shown: str) -> None:
    g.person = replace(ANA, timezone=zone)
    assert formatting.moment_title(AT) == shown


@pytest.mark.parametrize(
    ("distance", "shown"),
    [
        (timedelta(seconds=-3), "just now"),
        (timedelta(minutes=-5), "5 minutes ago"),
        (timedelta(minutes=-80), "80 minutes ago"),
        (timedelta(hours=-3), "3 hours ago"),
        (timedelta(days=-400), "13 months ago"),
        (timedelta(hours=2), "in 2 hours"),
    ],
)
def test_times_are_told_from_now(distance: timedelta, shown: str) -> None:
    assert formatting.ago(AT + distance) == shown


@pytest.mark.parametrize("locale", ["en", "es", "pt_BR", "ru"])
@given(
    distance=timedeltas(min_value=timedelta(seconds=45), max_value=timedelta(days=10_000))
    | integers(23, 2000).map(lambda halves: timedelta(minutes=30 * halves)),
    sign=sampled_from([-1, 1]),
)
def test_times_from_now_are_what_babel_writes(locale: str, distance: timedelta, sign: int) -> None:
    speak(Language(Locale.parse(locale), NullTranslations()))
    babel = format_timedelta(sign * distance, add_direction=True, threshold=1.5, format="long", locale=locale)
    assert formatting.ago(AT + sign * distance) == babel


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        (None, "–"),
        (0, "0 s"),
        (59.9, "59 s"),
        (3600, "1 h"),
        (timedelta(days=2, hours=4, minutes=9), "2 d 4 h"),
        (timedelta(days=2, minutes=9), "2 d"),
        (timedelta(minutes=37, seconds=13), "37 min"),
        (-90, "-1 min 30 s"),
    ],
)
def test_durations_are_told_in_two_units(length: timedelta | float | None, shown: str) -> None:
    assert formatting.duration(length) == shown


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        (None, None, "–"),
        ("318.93", "EUR", "€318.93"),
        ("1234567.5", "USD", "$1,234,567.50"),
        ("0.000001", "EUR", "€0.000001"),
        ("1500", "JPY", "¥1,500"),
        ("123456789012345678901234.000001", "EUR", "€123,456,789,012,345,678,901,234.000001"),
        ("-10", None, "-10"),
        ("12", "CHF", "CHF\xa012.00"),
        ("-12", "CHF", "-CHF\xa012.00"),
        ("NaN", "EUR", "NaN EUR"),
        ("12", "<b>", "12 <b>"),
        ("a lot\u202e", "EUR", "a lot\\u202e EUR"),
    ],
)
def test_money_is_exact_and_in_the_persons_language(amount: str | None, currency: str | None, shown: str) -> None:
    assert formatting.money(amount, currency) == shown


@pytest.mark.parametrize(
    ("total", "shown"),
    [(Total(0, capped=False), "0"), (Total(12_345, capped=False), "12,345"), (Total(10_000, capped=True), "10,000+")],
)
def test_a_count_says_where_counting_stopped(total: Total, shown: str) -> None:
    assert formatting.counted(total) == shown


def test_shares_are_shown_as_percentages() -> None:
    assert (formatting.percent(0.01234), formatting.percent(None)) == ("1.2%", "–")


def test_numbers_are_grouped() -> None:
    assert formatting.number(Decimal("1234.5")) == "1,234.5"


def test_what_no_page_may_have_is_spelled_out_and_markup_stays() -> None:
    shown = render_template_string("{{ text }}{{ markup }}", text="a\x00<b>\ufdd0👩‍👧\n", markup=Markup("<i>\x07</i>"))
    assert shown == "a\\u0000&lt;b&gt;\\ufdd0👩‍👧\n<i>\\u0007</i>"


def test_values_have_names_and_unknown_ones_are_shown_as_they_are() -> None:
    shown = render_template_string("{{ 'sent_unknown'|label('cause') }}, {{ 'new\u202e_one'|label('cause') }}")
    assert shown == "Sent, answer unknown, new\\u202e one"


@pytest.mark.parametrize("locale", ["en", "es", "pt_BR", "hi", "de_CH"])
@given(
    amount=decimals(min_value=-(10**12), max_value=10**12, places=3) | decimals(min_value=0, max_value=10**9, places=2),
    currency=sampled_from(["EUR", "BRL", "JPY", "CHF", "KWD", "XYZ", "CLF"]),
    number=integers(-(10**12), 10**12),
)
def test_numbers_and_money_are_what_babel_writes(locale: str, amount: Decimal, currency: str, number: int) -> None:
    written = Numerals(Locale.parse(locale))
    usual = -int(amount.as_tuple().exponent) <= get_currency_precision(currency)
    expected = format_currency(amount, currency, locale=locale, decimal_quantization=usual, currency_digits=usual)
    assert written.money(amount, currency).replace("\N{NO-BREAK SPACE}", "") == expected.replace(
        "\N{NO-BREAK SPACE}", ""
    )
    assert written.number(number) == format_decimal(number, locale=locale)


@pytest.mark.parametrize("locale", ["en", "es", "pt_BR"])
def test_times_are_what_babel_writes(locale: str) -> None:
    speak(Language(Locale.parse(locale), NullTranslations()))
    for month in range(1, 13):
        at = AT.replace(month=month, day=1)
        assert formatting.clock_time(at) == format_datetime(at, "d MMM y, HH:mm", locale=locale)
