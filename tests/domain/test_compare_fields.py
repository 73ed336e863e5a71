"""Expected and actual side by side: every field once, numbers by value."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.verdicts import FieldDifference, compare_fields

names = st.text(st.characters(codec="utf-8"), max_size=5)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
objects = st.dictionaries(
    names,
    st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2), max_leaves=4
    ),
    max_size=4,
)


def test_expected_fields_come_first_then_what_only_the_actual_has() -> None:
    found = compare_fields({"amount": "10.00", "to": {"name": "A"}}, {"extra": 1, "amount": "11", "to": {"name": "A"}})
    assert found == (
        FieldDifference("amount", "10.00", "11", differs=True),
        FieldDifference("to.name", "A", "A", differs=False),
        FieldDifference("extra", None, 1, differs=False, compared=False),
    )


def test_without_an_actual_nothing_is_compared() -> None:
    assert compare_fields({"amount": "10"}, None) == (
        FieldDifference("amount", "10", None, differs=False, compared=False),
    )


def test_items_of_lists_have_their_position_as_path() -> None:
    (_, second) = compare_fields({"lines": [{"sku": "a"}, {"sku": "b"}]}, {"lines": [{"sku": "a"}, {"sku": "c"}]})
    assert second == FieldDifference("lines.1.sku", "b", "c", differs=True)


def test_a_missing_field_differs_unless_nothing_was_expected() -> None:
    assert [found.differs for found in compare_fields({"a": 1, "b": None}, {})] == [True, False]


def test_a_dot_in_a_name_makes_no_path() -> None:
    assert [found.path for found in compare_fields({"a.b": 1, "a": {"b": 2}}, {})] == [r"a\.b", "a.b"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("10", "10.0"), (10, "10.00"), (0.1, "0.1"), (Decimal("1E+2"), 100), ("-0", 0), (10**40, f"{10**40}.0")],
)
def test_numbers_are_equal_by_value(one: object, other: object) -> None:
    assert not compare_fields({"n": one}, {"n": other})[0].differs


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("007", "7"),
        ("1e3", "1000"),
        (True, 1),
        ("10.00", "10.01"),
        (10**40, 10**40 + 1),
        ("a", "A"),
        ({}, []),
        ("", None),
    ],
)
def test_what_is_not_the_same_differs(one: object, other: object) -> None:
    assert compare_fields({"n": one}, {"n": other})[0].differs


@given(objects)
def test_nothing_differs_from_itself(value: dict[str, object]) -> None:
    found = compare_fields(value, value)
    assert not [field for field in found if field.differs or not field.compared]


@given(objects, objects)
def test_every_path_appears_once(expected: dict[str, object], actual: dict[str, object]) -> None:
    paths = [found.path for found in compare_fields(expected, actual)]
    assert len(paths) == len(set(paths))


def test_deep_nesting_is_one_leaf() -> None:
    value: dict[str, object] = {}
    for _ in range(900):
        value = {"x": value}
    assert len(compare_fields(value, value)) == 1
