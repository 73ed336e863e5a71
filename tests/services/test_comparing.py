from collections.abc import Mapping
from decimal import Decimal

import pytest

from dashboard.domain.policy import Comparison, FieldKind
from dashboard.services.comparing import agree, compare

AMOUNT = Comparison("amount", "amount", "amount", FieldKind.DECIMAL)


@pytest.mark.parametrize(
    ("kind", "tolerance", "wanted", "seen", "same"),
    [
        (FieldKind.DECIMAL, None, "10", Decimal("10.00"), True),
        (FieldKind.DECIMAL, None, "0.3", Decimal("0.30000000000000004"), False),
        (FieldKind.DECIMAL, "0.01", "10.00", "10.01", True),
        (FieldKind.DECIMAL, "0.01", "10.00", "10.011", False),
        (FieldKind.DECIMAL, "0.01", "10.00", "-10.00", False),
        (FieldKind.DECIMAL, None, 318.93, Decimal("318.93"), True),
        (FieldKind.DECIMAL, None, "NaN", "NaN", False),
        (FieldKind.DECIMAL, None, "10", True, False),
        (FieldKind.DECIMAL, None, "10", None, False),
        (FieldKind.INTEGER, None, 7, "7", True),
        (FieldKind.INTEGER, None, 9007199254740993, "9007199254740992", False),
        (FieldKind.INTEGER, "1", 7, 6, True),
        (FieldKind.INTEGER, None, "7.5", "7.5", False),
        (FieldKind.TEXT, None, "EUR", "EUR", True),
        (FieldKind.TEXT, None, "EUR", "eur", False),
        (FieldKind.TEXT, None, "452", 452, True),
        (FieldKind.TEXT, None, "007", 7, False),
        (FieldKind.BOOLEAN, None, True, "true", True),
        (FieldKind.BOOLEAN, None, True, 1, False),
        (FieldKind.TIME, "60", "2026-11-30T12:00:00Z", "2026-11-30T13:00:59+01:00", True),
        (FieldKind.TIME, "60", "2026-11-30T12:00:00Z", "2026-11-30T12:01:01Z", False),
        (FieldKind.TIME, None, "2026-11-30T12:00:00Z", 1796040000, True),
        (FieldKind.TIME, None, "yesterday", "yesterday", False),
    ],
)
def test_values_agree_by_their_kind_and_tolerance(
    kind: FieldKind, tolerance: str | None, wanted: object, seen: object, *, same: bool
) -> None:
    rule = Comparison("field", "field", "field", kind, Decimal(tolerance) if tolerance else None)
    assert agree(rule, wanted, seen) is same


@pytest.mark.parametrize(
    ("candidate", "differs"), [({"amount": "10.0"}, False), ({"amount": "11"}, True), ({"fee": "10"}, True)]
)
def test_a_field_that_is_other_or_not_shown_differs(candidate: Mapping[str, object], *, differs: bool) -> None:
    assert compare([AMOUNT], expected={"amount": "10"}, candidate=candidate).differs is differs


def test_a_field_nobody_said_to_expect_is_a_doubt_and_no_agreement() -> None:
    compared = compare([AMOUNT], expected={}, candidate={"amount": "10"})
    assert not compared.differs
    assert compared.incomparable == "The operation does not say what to expect of amount."


def test_expressions_reach_into_both_sides() -> None:
    rule = Comparison("version", "customer.version", "metadata.version", FieldKind.INTEGER)
    compared = compare([rule], expected={"customer": {"version": 6}}, candidate={"metadata": {"version": 7}})
    assert [(one.path, one.expected, one.actual, one.differs) for one in compared.fields] == [("version", 6, 7, True)]


def test_an_expression_that_cannot_be_applied_is_a_doubt() -> None:
    rule = Comparison("amount", "amount", "abs(amount)", FieldKind.DECIMAL)
    assert compare([rule], expected={"amount": "10"}, candidate={"amount": "ten"}).incomparable


def test_without_fields_to_compare_existence_is_enough() -> None:
    assert not compare([], expected={"order": "452"}, candidate={"id": "p"}).differs
