"""Amounts are exact, finite and in plain notation."""

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.money import AmountError, Money, parse_amount

amounts = st.decimals(min_value=-(10**24) + 1, max_value=10**24 - 1, places=6)


@given(amounts)
def test_an_amount_is_read_exactly_as_written(amount: Decimal) -> None:
    assert str(parse_amount(f"{amount:f}")) == f"{amount:f}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e3",
        "1,000.00",
        "+1",
        " 1",
        "1\n",
        ".5",
        "5.",
        "1_000",
        "١",
        "0.1234567",
        "1" * 25,
        "--1",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(AmountError) as refused:
        parse_amount(text)
    assert refused.value.code == "amount_invalid"


@given(st.text(max_size=12))
def test_no_text_gives_an_amount_that_is_not_finite(text: str) -> None:
    with suppress(AmountError):
        assert parse_amount(text).is_finite()


@pytest.mark.parametrize(
    ("amount", "currency", "code"),
    [("NaN", "EUR", "amount_invalid"), ("1", "eur", "currency_invalid"), ("1", "", "currency_invalid")],
)
def test_money_needs_a_finite_amount_and_a_currency(amount: str, currency: str, code: str) -> None:
    with pytest.raises(AmountError) as refused:
        Money(Decimal(amount), currency)
    assert refused.value.code == code
