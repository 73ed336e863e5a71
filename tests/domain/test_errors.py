"""Errors carry a stable code and details for the words of the edges."""

import pytest

from dashboard.domain.errors import (
    InvalidInputError,
    LostRaceError,
    NotAllowedError,
    NotFoundError,
    OperationsError,
    Problem,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFoundError(), "not_found"),
        (NotAllowedError(permission="execute"), "not_allowed"),
        (LostRaceError(), "changed_meanwhile"),
        (InvalidInputError([]), "invalid_input"),
        (LostRaceError("approval_void"), "approval_void"),
    ],
)
def test_each_error_has_its_code(error: OperationsError, code: str) -> None:
    assert error.code == code


def test_details_are_kept_and_told() -> None:
    error = NotAllowedError(permission="execute")
    assert error.details == {"permission": "execute"}
    assert str(error) == "not_allowed (permission=execute)"


def test_invalid_input_names_its_fields() -> None:
    error = InvalidInputError([Problem("note", "note_missing"), Problem("reason_code", "reason_missing")])
    assert error.details == {"fields": ("note", "reason_code")}
    assert [problem.code for problem in error.problems] == ["note_missing", "reason_missing"]
