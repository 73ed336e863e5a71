from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, files, functions

LONGEST_FUNCTION = 50


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        ("dashboard/**/*.py", 300),
        ("tests/**/*.py", 300),
        ("tools/**/*.py", 300),
        ("migrations/**/*.py", 300),
        ("templates/**/*.html", 80),
        ("static/css/**/*.css", 500),
        ("static/js/**/*.js", 500),
    ],
)
def test_no_file_is_too_long_to_read_in_one_go(pattern: str, most: int) -> None:
    assert {str(path.relative_to(ROOT)): lines(path) for path in files(pattern) if lines(path) > most} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    # Migrations are left out: a table's columns are one list, however long.
    too_long = {
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path in files("dashboard/**/*.py", "tests/**/*.py", "tools/**/*.py")
        for function in functions(path)
        if (function.end_lineno or 0) - function.lineno + 1 > LONGEST_FUNCTION
    }
    assert too_long == set()


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())
