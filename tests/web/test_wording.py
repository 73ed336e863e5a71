"""Every code that a layer below can raise, and every value it can store, has words."""

import re
from enum import StrEnum

import pytest
from flask import Flask

from dashboard.cli.words import WORDS
from dashboard.domain.actions import REASON_CODES, ActionName
from dashboard.domain.errors import OperationsError, Problem
from dashboard.domain.permissions import Role
from dashboard.domain.risk import Risk, RiskReason
from dashboard.domain.states import ActorKind, Cause, EventKind, State
from dashboard.domain.verdicts import Verdict
from dashboard.services.preferences import THEMES
from dashboard.web.labels import LABELS
from dashboard.web.wording import SENTENCES, in_words
from tests.architecture.tree import files

# What only files can be wrong about is worded by the command line.
OF_FILES = ("import_", "importing", "evidence", "fingerprint", "money", "polic")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("state", State),
        ("verdict", Verdict),
        ("cause", Cause),
        ("action", ActionName),
        ("risk", Risk),
        ("risk_reason", RiskReason),
        ("event", EventKind),
        ("actor", ActorKind),
        ("role", Role),
    ],
)
def test_every_value_has_a_name(kind: str, values: type[StrEnum]) -> None:
    assert {value.value for value in values} - LABELS[kind].keys() == set()


def test_every_reason_and_theme_has_a_name() -> None:
    assert {code for codes in REASON_CODES.values() for code in codes} - LABELS["reason_code"].keys() == set()
    assert set(THEMES) == LABELS["theme"].keys()


def test_every_code_of_an_error_has_a_sentence() -> None:
    raised = re.compile(r"""(?:Problem\(\s*[^,()]+,\s*|Error\(|default_code: ClassVar\[str\] = )"([a-z]+_[a-z_]+)\"""")
    codes = {
        code
        for path in files(*(f"dashboard/{room}/*.py" for room in ("domain", "services", "edge", "web")))
        if not path.name.startswith(OF_FILES)
        for code in raised.findall(path.read_text(encoding="utf-8"))
    }
    assert len(codes) > 20
    assert codes - SENTENCES.keys() - WORDS.keys() - {"operations_error"} == set()


def test_a_sentence_names_the_details(app: Flask) -> None:
    with app.test_request_context():
        problem = Problem("note", "note_too_short", {"minimum": 15, "length": 3})
        assert "says 3 characters; at least 15" in in_words(problem)


def test_a_missing_detail_leaves_a_gap_instead_of_an_error(app: Flask) -> None:
    with app.test_request_context():
        assert in_words(OperationsError("compensation_exists")) == "A compensation exists already: ?."
