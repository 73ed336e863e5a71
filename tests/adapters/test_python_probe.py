from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest

from dashboard.adapters.probes.python import probe
from dashboard.domain.answers import Answer, Question
from dashboard.domain.policy import Destination, ProbeRule

QUESTION = Question("op-1", "shop", "charge_order", "order", "452", datetime(2026, 11, 30, 12, tzinfo=UTC))
ANSWERS: dict[str, Any] = {
    "one": {"id": "p-1"},
    "several": [{"id": "p-1"}, {"id": "p-2"}],
    "whole": {"candidates": [{"id": "p-1"}], "view": "2026-11-30T11:00:00Z"},
    "none": None,
    "answer": Answer(candidates=({"id": "p-9"},), partial=True),
    "odd": 7,
}


def asked(question: Question) -> Any:
    """What the host's function gives: `tenant` names the answer."""
    return ANSWERS[question.tenant]


def ask(tenant: str, *, entry: str = "tests.adapters.test_python_probe:asked", **settings: Any) -> Answer:
    rule = ProbeRule("python", MappingProxyType({"entry": entry, "remote_id": "id", **settings}))
    question = Question("op-1", tenant, "charge_order", "order", "452", QUESTION.now)
    return probe(rule, Destination("payments"), question)


@pytest.mark.parametrize(("name", "found"), [("one", 1), ("several", 2), ("whole", 1), ("none", 0), ("answer", 1)])
def test_a_function_gives_what_it_found(name: str, found: int) -> None:
    answer = ask(name)
    assert (answer.failed, len(answer.candidates)) == (None, found)


def test_a_whole_answer_says_when_it_was_true() -> None:
    assert ask("whole", as_of="view").as_of == datetime(2026, 11, 30, 11, tzinfo=UTC)
    assert ask("one").as_of == QUESTION.now


def test_an_answer_of_the_host_s_own_is_taken_as_it_is() -> None:
    assert ask("answer").partial


@pytest.mark.parametrize(
    ("tenant", "entry", "code"),
    [
        ("missing", "tests.adapters.test_python_probe:asked", "function_failed"),
        ("one", "tests.adapters.test_python_probe:nothing", "function_failed"),
        ("one", "no.such.module:asked", "function_failed"),
        ("odd", "tests.adapters.test_python_probe:asked", "not_candidates"),
    ],
)
def test_what_the_function_raises_is_a_reason(tenant: str, entry: str, code: str) -> None:
    assert ask(tenant, entry=entry).failed == code
