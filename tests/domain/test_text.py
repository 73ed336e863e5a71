"""Text from outside is refused where no engine stores it, and shown for what it is."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.text import TextError, check_text, is_operation_id, visible, without_invisible

HIDING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# These belong to format characters but are drawn: number signs before Arabic digits and the like.
DRAWN = {"ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN"}


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_ordinary_text_comes_back_unchanged(value: str) -> None:
    assert check_text(value) == value


@pytest.mark.parametrize(
    ("value", "code"), [("a\x00b", "text_nul"), ("a\ud83d", "text_surrogate"), ("\udfff", "text_surrogate")]
)
def test_what_no_engine_stores_is_refused(value: str, code: str) -> None:
    with pytest.raises(TextError) as refused:
        check_text(value)
    assert refused.value.code == code


@pytest.mark.parametrize("value", ["a", "sync-customer-000000-4f8fc4aa", "0._:~-", "x" * 128])
def test_ids_of_operations(value: str) -> None:
    assert is_operation_id(value)


@pytest.mark.parametrize("value", ["", "-a", "has space", "a%2f", "a/b", "x" * 129, "a\n", "é", "١", "a\u200b"])
def test_what_is_no_id_of_an_operation(value: str) -> None:
    assert not is_operation_id(value)


@given(st.text())
def test_nothing_hides_in_visible_text(value: str) -> None:
    shown = visible(value).replace("\r\n", "\n")
    hiding = [c for c in shown if unicodedata.category(c) in HIDING and c not in "\n\t"]
    assert [c for c in hiding if unicodedata.name(c, "?").split()[0] not in DRAWN] == []


@given(
    st.text(st.characters(categories=("L", "N", "P", "S", "Zs"), exclude_characters="\u115f\u1160\u3164\uffa0\u2800"))
)
def test_readable_text_stays_as_it_is(value: str) -> None:
    assert visible(value) == value
    assert without_invisible(value) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("\u202eabc", "\\u202eabc"),
        ("a\u200d\u200bb", "a\\u200d\\u200bb"),
        ("a\r\n\tb", "a\r\n\tb"),
        ("a\rb", "a\\u000db"),
        ("\x1b[31m", "\\u001b[31m"),
        ("\U000e0041", "\\U000e0041"),
        ("\x00\ud800", "\\u0000\\ud800"),
    ],
)
def test_hidden_characters_are_spelled_out(value: str, shown: str) -> None:
    assert visible(value) == shown
