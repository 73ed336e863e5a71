"""Evidence is mandatory, and a note has to say something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.actions import (
    MAX_NOTE,
    MAX_REFERENCE,
    MIN_NOTE,
    REASON_CODES,
    ActionName,
    Evidence,
    check_evidence,
)
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.states import ClosedReason

NOTE = "The provider shows no payment for this order."
BLANK = st.sampled_from(" \t\r\n\u00a0\u2003\u200b\u200d\u2060\ufeff\u00ad\u2800\u3164\ufe0f")


def problems(
    note: str | None = NOTE, *, reason: str | None = "effect_absent", reference: str | None = None
) -> list[Problem]:
    try:
        check_evidence(ActionName.REQUEUE, reason_code=reason, note=note, reference=reference)
    except InvalidInputError as error:
        return list(error.problems)
    return []


def test_good_evidence_comes_back_trimmed() -> None:
    found = check_evidence(ActionName.REQUEUE, reason_code="effect_absent", note=f"  {NOTE}\n", reference=" ")
    assert found == Evidence("effect_absent", NOTE, None)


@pytest.mark.parametrize("action", ActionName)
def test_every_action_has_reasons_that_pass(action: ActionName) -> None:
    for reason in REASON_CODES[action]:
        assert check_evidence(action, reason_code=reason, note=NOTE, reference="T-1").reference == "T-1"


def test_closing_takes_the_closed_reasons() -> None:
    assert set(REASON_CODES[ActionName.CLOSE]) == set(ClosedReason)


def test_each_bad_field_is_one_problem() -> None:
    found = problems(note=None, reason=None, reference="x" * (MAX_REFERENCE + 1))
    assert [(problem.field, problem.code) for problem in found] == [
        ("reason_code", "reason_missing"),
        ("note", "note_missing"),
        ("reference", "reference_too_long"),
    ]


def test_an_unknown_reason_says_which_are_known() -> None:
    (problem,) = problems(reason="because")
    assert problem.code == "reason_unknown"
    assert problem.details["allowed"] == REASON_CODES[ActionName.REQUEUE]


def test_fourteen_characters_are_too_few_and_fifteen_are_enough() -> None:
    (problem,) = problems("abcdefghijklmn")
    assert (problem.code, dict(problem.details)) == ("note_too_short", {"minimum": MIN_NOTE, "length": 14})
    assert problems("abcdefghijklmno") == []


@given(st.text(BLANK, max_size=80))
def test_blanks_alone_are_no_note(blanks: str) -> None:
    assert [problem.code for problem in problems(blanks)] == ["note_missing"]


@given(st.text(BLANK, min_size=20, max_size=80), st.text(BLANK, max_size=80))
def test_blank_padding_does_not_lengthen_a_note(before: str, after: str) -> None:
    assert [problem.code for problem in problems(f"{before}too short{after}")] == ["note_too_short"]


@given(st.characters(exclude_categories=("Cs", "Cc")), st.integers(min_value=MIN_NOTE, max_value=200))
def test_one_repeated_character_is_no_note(character: str, times: int) -> None:
    assert [problem.code for problem in problems(character * times)] in (["note_too_short"], ["note_missing"])


@pytest.mark.parametrize(
    "note", ["ok" + "." * 40, "----- ----- ----- -----", "aaaa aaaa aaaa aaaa", "a\u0301" + "!" * 30]
)
def test_padding_does_not_count(note: str) -> None:
    assert [problem.code for problem in problems(note)] == ["note_too_short"]


@pytest.mark.parametrize(
    "note", ["プロバイダーに支払いが見当たりませんでした", "Order 1000000000 has no charge", "não há cobrança 🧾 aqui"]
)
def test_honest_notes_pass_in_any_script(note: str) -> None:
    assert problems(note) == []


def test_a_note_has_an_upper_limit() -> None:
    assert problems("ab " * (MAX_NOTE // 3)) == []
    assert [problem.code for problem in problems("ab " * MAX_NOTE)] == ["note_too_long"]


@pytest.mark.parametrize(("hostile", "reason"), [("\x00", "text_nul"), ("\ud800", "text_surrogate")])
def test_text_that_no_engine_stores_is_refused(hostile: str, reason: str) -> None:
    found = problems(NOTE + hostile, reference=f"T{hostile}1")
    assert [(problem.field, problem.code) for problem in found] == [
        ("note", "text_invalid"),
        ("reference", "text_invalid"),
    ]
    assert {problem.details["reason"] for problem in found} == {reason}


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_no_text_breaks_the_check(reason: str, note: str, reference: str) -> None:
    assert {problem.field for problem in problems(note, reason=reason, reference=reference)} <= {
        "reason_code",
        "note",
        "reference",
    }
