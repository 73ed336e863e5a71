"""Duplication risk: only fresh proof of absence makes sending again a low risk."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.actions import ActionName
from dashboard.domain.risk import Risk, RiskAssessment, RiskReason, assess_duplication
from dashboard.domain.states import Cause
from dashboard.domain.verdicts import Verdict

FRESHNESS = timedelta(minutes=10)
ages = st.none() | st.timedeltas(timedelta(0), timedelta(hours=1))
situations = st.fixed_dictionaries(
    {
        "cause": st.none() | st.sampled_from(Cause),
        "verdict": st.none() | st.sampled_from(Verdict),
        "verdict_age": ages,
        "attempts": st.integers(0, 9),
        "remote_id": st.none() | st.just("pa_1"),
        "honours_idempotency_key": st.none() | st.booleans(),
    }
)


def assess(**changes: object) -> RiskAssessment:
    situation: dict[str, object] = {
        "cause": Cause.SENT_UNKNOWN,
        "verdict": Verdict.ABSENT,
        "verdict_age": timedelta(minutes=1),
        "attempts": 1,
        "remote_id": None,
        "honours_idempotency_key": False,
    }
    asked = {"action": ActionName.REQUEUE, "freshness": FRESHNESS, **situation, **changes}
    return assess_duplication(**asked)  # type: ignore[arg-type]


@given(situations)
def test_a_requeue_is_low_risk_only_with_fresh_proof_of_absence(situation: dict[str, object]) -> None:
    age = situation["verdict_age"]
    proven = situation["verdict"] is Verdict.ABSENT and isinstance(age, timedelta) and age <= FRESHNESS
    low = assess(**situation).level is Risk.LOW
    assert low == (proven and not situation["remote_id"])


@given(situations, st.sampled_from([Verdict.CORRECT, Verdict.DIVERGENT, Verdict.NOT_APPLICABLE]))
def test_sending_again_what_exists_is_always_high_risk(situation: dict[str, object], verdict: Verdict) -> None:
    assert assess(**{**situation, "verdict": verdict}).level is Risk.HIGH


@given(situations, st.sampled_from(ActionName))
def test_every_level_has_reasons_each_once(situation: dict[str, object], action: ActionName) -> None:
    found = assess(action=action, **situation)
    assert found.reasons
    assert len(found.reasons) == len(set(found.reasons))


@given(situations)
def test_a_destination_that_honours_keys_is_never_riskier(situation: dict[str, object]) -> None:
    order = list(Risk)
    honoured, ignored = (assess(**{**situation, "honours_idempotency_key": answer}).level for answer in (True, False))
    assert order.index(honoured) <= order.index(ignored)


@pytest.mark.parametrize("action", [ActionName.CLOSE, ActionName.CONFIRM, ActionName.ESCALATE, ActionName.REOPEN])
def test_what_sends_nothing_duplicates_nothing(action: ActionName) -> None:
    assert assess(action=action) == RiskAssessment(Risk.LOW, (RiskReason.SENDS_NOTHING,))


@pytest.mark.parametrize(
    ("changes", "level", "reason"),
    [
        ({}, Risk.LOW, RiskReason.EFFECT_PROVEN_ABSENT),
        ({"verdict_age": timedelta(hours=1)}, Risk.HIGH, RiskReason.PROOF_STALE),
        ({"verdict": None, "verdict_age": None}, Risk.HIGH, RiskReason.NEVER_CHECKED),
        ({"verdict": Verdict.AMBIGUOUS}, Risk.HIGH, RiskReason.EFFECT_UNPROVEN),
        ({"verdict": None, "honours_idempotency_key": True}, Risk.MEDIUM, RiskReason.KEY_HONOURED),
        ({"verdict": None, "cause": Cause.NOT_SENT}, Risk.MEDIUM, RiskReason.NEVER_STARTED),
        ({"remote_id": "pa_1"}, Risk.MEDIUM, RiskReason.REMOTE_ID_KNOWN),
        ({"verdict": None, "attempts": 3}, Risk.HIGH, RiskReason.SEVERAL_ATTEMPTS),
    ],
)
def test_reasons_of_a_requeue(changes: dict[str, object], level: Risk, reason: RiskReason) -> None:
    found = assess(**changes)
    assert found.level is level
    assert reason in found.reasons


@pytest.mark.parametrize(
    ("verdict", "age", "level"),
    [
        (Verdict.CORRECT, timedelta(0), Risk.LOW),
        (Verdict.CORRECT, timedelta(hours=1), Risk.MEDIUM),
        (Verdict.ABSENT, timedelta(0), Risk.HIGH),
        (Verdict.AMBIGUOUS, timedelta(0), Risk.MEDIUM),
        (None, None, Risk.MEDIUM),
    ],
)
def test_compensating_needs_an_effect_to_undo(verdict: Verdict | None, age: timedelta | None, level: Risk) -> None:
    assert assess(action=ActionName.COMPENSATE, verdict=verdict, verdict_age=age).level is level
