"""A key is read from its header exactly, or refused with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.errors import InvalidInputError
from dashboard.domain.key_syntax import Profile, key_for, read_key

printable = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=255)


def code(header: str | None, profile: Profile = Profile.DEFAULT) -> str:
    with pytest.raises(InvalidInputError) as refused:
        read_key(header, profile=profile)
    (problem,) = refused.value.problems
    assert problem.field == "Idempotency-Key"
    return problem.code


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ("k-1", "k-1"),
        ('"k-1"', "k-1"),
        ('  "k-1"\t', "k-1"),
        ("k-1 ", "k-1"),
        ('"k-1 "', "k-1 "),
        ('"K-1"', "K-1"),
        ('"a\\"b\\\\c"', 'a"b\\c'),
        ('a"b\\c', 'a"b\\c'),
        ('"one, two"', "one, two"),
        ("two words", "two words"),
        ("x" * 255, "x" * 255),
    ],
)
def test_a_key_is_read_with_and_without_quotes(header: str, key: str) -> None:
    assert read_key(header) == key


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, "key_missing"),
        ("", "key_empty"),
        ("  ", "key_empty"),
        ('""', "key_empty"),
        ('"   "', "key_empty"),
        ("x" * 256, "key_too_long"),
        ('"' + "x" * 256 + '"', "key_too_long"),
        ("clé", "key_characters"),
        ('"clé"', "key_characters"),
        ("a\x00b", "key_characters"),
        ('"a\tb"', "key_characters"),
        ('"k-1', "key_quotes"),
        ('"a"b', "key_quotes"),
        ('"a";v=1', "key_quotes"),
        ('"a\\n"', "key_quotes"),
        ("a,b", "key_repeated"),
        ('"a", "b"', "key_repeated"),
    ],
)
def test_a_header_that_is_no_key_is_refused_with_a_reason(header: str | None, expected: str) -> None:
    assert code(header) == expected


def test_the_draft_takes_quoted_keys_alone() -> None:
    assert read_key('"k-1"', profile=Profile.IETF) == "k-1"
    assert code("k-1", Profile.IETF) == "key_unquoted"


@given(printable.filter(lambda key: bool(key.strip())))
def test_every_printable_key_comes_back_from_its_quotes(key: str) -> None:
    quoted = key.replace("\\", "\\\\").replace('"', '\\"')
    assert read_key(f'"{quoted}"', profile=Profile.IETF) == key


def test_an_event_has_one_key_whoever_delivers_it() -> None:
    event = {"source": "/shops/es", "id": "evt_1", "type": "order.paid", "time": "now"}
    assert key_for(event) == key_for({"id": "evt_1", "source": "/shops/es"}) == "/shops/es#evt_1"


@given(st.tuples(st.text(min_size=1), st.text(min_size=1)), st.tuples(st.text(min_size=1), st.text(min_size=1)))
def test_two_events_never_share_a_key(one: tuple[str, str], other: tuple[str, str]) -> None:
    keys = [key_for({"source": source, "id": name}) for source, name in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)
    assert [read_key(f'"{key}"') for key in keys] == keys


def test_a_long_event_gets_a_short_key() -> None:
    assert len(key_for({"source": "s" * 300, "id": "1"})) == len("sha256:") + 64


@pytest.mark.parametrize("event", [{}, {"source": "/s"}, {"source": "/s", "id": ""}, {"source": "/s", "id": 7}])
def test_an_event_without_a_name_has_no_key(event: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        key_for(event)
