"""Fingerprint v1: what means the same is the same, and nothing else is."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.fingerprint import (
    FingerprintRules,
    PayloadError,
    canonical_bytes,
    differing_fields,
    field_digests,
    fingerprint,
    parse_payload,
)

names = st.text(st.characters(codec="utf-8"), max_size=6)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=10)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=8
)
decimals = st.decimals(allow_nan=False, allow_infinity=False)


def of(body: str) -> str:
    return fingerprint(parse_payload(body))


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (
            '{"version": 2, "customer": "1349", "email": "customer1349@example.com", "segment": "A"}',
            "41a5f9c3eea19e2bd3ef5e43df4f529b811594246e97cd96df6ff6afacffa4e2",
        ),
        (
            '{"version": 3, "invoice": "F202611-00001", "amount": "731.88", "currency": "EUR"}',
            "2d28be1abf7b24c6bcfdc0490ce85068b4e7b7a3cf4b590da2d8b90ce3b5a319",
        ),
    ],
)
def test_version_one_never_changes(payload: str, expected: str) -> None:
    assert of(payload) == expected


@pytest.mark.parametrize(
    "group",
    [
        ["1", "1.0", "1e0", "10e-1", "0.1E1", "1.000"],
        ["0", "-0", "0.0", "-0.0", "0e9", "0e-400"],
        ["100", "1e2", "1E+2", "100.00"],
        ["-1.5", "-15e-1", "-1.50"],
        ["1e100", "10e99", "0.1e101", "1" + "0" * 100],
        ['{"a":1,"b":2}', '{ "b" : 2.0, "a" : 1 }'],
        ['"\\u00e9"', '"é"'],
    ],
)
def test_what_means_the_same_is_the_same(group: list[str]) -> None:
    assert len({of(body) for body in group}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", '"1"'),
        ("1", "true"),
        ("0", "false"),
        ("0", "null"),
        ("[]", "{}"),
        ("[1,2]", "[2,1]"),
        ("[[1],2]", "[1,[2]]"),
        ('"é"', '"e\\u0301"'),
        ("9007199254740993", "9007199254740992"),
        ("0.1", "0.1000000000000000055511151231257827"),
        ("1" * 5000, "1" * 4999 + "2"),
        ('{"a":null}', "{}"),
        ("1e-70", "1e-71"),
    ],
)
def test_what_differs_is_different(one: str, other: str) -> None:
    assert of(one) != of(other)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('{"a":1,"a":1}', "payload_duplicate_name"),
        ('{"x":[{"a":1,"\\u0061":2}]}', "payload_duplicate_name"),
        ("NaN", "payload_number"),
        ("[-Infinity]", "payload_number"),
        ('"\\ud800"', "text_surrogate"),
        ("{", "payload_not_json"),
        ("", "payload_not_json"),
        ("[" * 100000, "payload_too_deep"),
        ("[" * 80 + "]" * 80, "payload_too_deep"),
        ("1e99999999999999999999", "payload_not_json"),
    ],
)
def test_a_payload_without_a_single_meaning_is_refused(body: str, code: str) -> None:
    with pytest.raises(PayloadError) as refused:
        of(body)
    assert refused.value.code == code


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), {1: 2}, object(), {"a": b"bytes"}])
def test_values_that_json_cannot_say_are_refused(value: object) -> None:
    with pytest.raises(PayloadError):
        fingerprint(value)


def test_a_huge_exponent_stays_small() -> None:
    assert canonical_bytes(parse_payload("1e999999999")) == b"1e999999999"


@given(values)
def test_reading_back_the_canonical_form_gives_the_same_fingerprint(value: Any) -> None:
    assert fingerprint(parse_payload(canonical_bytes(value))) == fingerprint(value)


@given(values)
def test_the_way_of_writing_does_not_matter(value: Any) -> None:
    loose = json.dumps(value, indent=3, ensure_ascii=True)
    assert of(loose) == fingerprint(value)


@given(st.dictionaries(names, values, max_size=6), st.randoms())
def test_the_order_of_names_does_not_matter(value: dict[str, Any], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)
    assert fingerprint(dict(items)) == fingerprint(value)


@given(decimals, decimals)
def test_numbers_agree_exactly_when_equal(one: Decimal, other: Decimal) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (one == other)


@given(st.dictionaries(names, scalars, min_size=1), st.data())
def test_an_ignored_field_does_not_count(value: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(value)))
    rules = FingerprintRules(ignored=frozenset({name}))
    rest = {key: item for key, item in value.items() if key != name}
    assert fingerprint(value, rules=rules) == fingerprint(rest, rules=rules)


def test_ignored_fields_are_found_inside_lists() -> None:
    rules = FingerprintRules(ignored=frozenset({"lines.sent_at"}))
    one, other = ({"lines": [{"sku": "a", "sent_at": moment}]} for moment in (1, 2))
    assert fingerprint(one, rules=rules) == fingerprint(other, rules=rules)


@given(st.lists(values, max_size=6), st.randoms())
def test_a_list_without_order_has_none_but_keeps_its_repeats(items: list[Any], random: Any) -> None:
    rules = FingerprintRules(unordered=frozenset({"tags"}))
    mixed = random.sample(items, len(items))
    assert fingerprint({"tags": items}, rules=rules) == fingerprint({"tags": mixed}, rules=rules)
    assert fingerprint({"tags": [*items, 1]}, rules=rules) != fingerprint({"tags": items}, rules=rules)


@given(st.dictionaries(names, scalars), st.dictionaries(names, scalars))
def test_digests_name_exactly_the_fields_that_differ(one: dict[str, Any], other: dict[str, Any]) -> None:
    found = differing_fields(field_digests(one, secret=b"k"), field_digests(other, secret=b"k"))
    missing = object()
    for name in {*one, *other}:
        pair = one.get(name, missing), other.get(name, missing)
        same = missing not in pair and fingerprint(pair[0]) == fingerprint(pair[1])
        assert (name in found) != same


def test_digests_depend_on_the_secret_and_the_name() -> None:
    digests = field_digests({"a": "x", "b": "x"}, secret=b"one")
    assert digests["a"] != digests["b"]
    assert digests["a"] != field_digests({"a": "x"}, secret=b"two")["a"]
    assert "x" not in digests.values()


def test_a_payload_that_is_no_object_is_one_field() -> None:
    assert list(field_digests([1, 2], secret=b"k")) == [""]
