from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest

from dashboard.domain.actions import ActionName
from dashboard.domain.policy import DEFAULT_RESPONSES, Response, Retry, TypePolicy, Window
from dashboard.domain.responses import (
    Decision,
    Judgement,
    Reason,
    Standing,
    Step,
    decide,
    judge,
    look_again_at,
    recommend,
)
from dashboard.domain.states import ActorKind, ClosedReason, State, Trigger, find_transition
from dashboard.domain.verdicts import Observation, Verdict

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
RETRYING = TypePolicy(on=MappingProxyType({**DEFAULT_RESPONSES, Verdict.ABSENT: Response.RETRY}), retry=Retry(3))
ASKING = TypePolicy(on=MappingProxyType(dict.fromkeys(Verdict, Response.REVIEW)))
WAITING = Standing(State.AWAITING_CONFIRMATION, attempts=1, overdue=False)
CORRECT = Judgement(Verdict.CORRECT, Reason.AGREES)
ABSENT = Judgement(Verdict.ABSENT, Reason.ABSENT)
DIVERGENT = Judgement(Verdict.DIVERGENT, Reason.DIFFERS)
SEVERAL = Judgement(Verdict.AMBIGUOUS, Reason.SEVERAL)
FAILED = Judgement(Verdict.AMBIGUOUS, Reason.FAILED)
NO_PROBE = Judgement(Verdict.AMBIGUOUS, Reason.NO_PROBE)
FIRST_MISS = Judgement(Verdict.AMBIGUOUS, Reason.FIRST_MISS)
CANCELLED = Judgement(Verdict.NOT_APPLICABLE, Reason.CANCELLED)
SUPERSEDED = Judgement(Verdict.NOT_APPLICABLE, Reason.SUPERSEDED)
JUDGEMENTS = (CORRECT, ABSENT, DIVERGENT, SEVERAL, FAILED, NO_PROBE, FIRST_MISS, CANCELLED, SUPERSEDED)


@pytest.mark.parametrize(
    ("observation", "reason"),
    [
        (Observation(1, NOW), Reason.AGREES),
        (Observation(1, NOW, differs=True), Reason.DIFFERS),
        (Observation(0, NOW), Reason.ABSENT),
        (Observation(2, NOW), Reason.SEVERAL),
        (Observation(0, NOW, failed=True), Reason.FAILED),
        (Observation(1, NOW, partial=True), Reason.PARTIAL),
        (Observation(1, None), Reason.OLD_VIEW),
        (Observation(0, NOW, sent_at=NOW, visibility_lag=timedelta(seconds=1)), Reason.OLD_VIEW),
        (Observation(0, NOW, lagging=True), Reason.FIRST_MISS),
        (Observation(0, NOW, authoritative=False), Reason.UNPROVEN),
        (Observation(1, NOW, cancelled=True), Reason.CANCELLED),
        (Observation(0, NOW, superseded=True), Reason.SUPERSEDED),
    ],
)
def test_a_judgement_says_what_decided_it(observation: Observation, reason: Reason) -> None:
    assert judge(observation).reason is reason


@pytest.mark.parametrize(
    ("judged", "step", "target"),
    [
        (CORRECT, Step.CONFIRM, State.CONFIRMED),
        (ABSENT, Step.RETRY, State.RETRY_SCHEDULED),
        (DIVERGENT, Step.REVIEW, State.MANUAL_REVIEW),
        (SEVERAL, Step.REVIEW, State.MANUAL_REVIEW),
        (NO_PROBE, Step.REVIEW, State.MANUAL_REVIEW),
        (FAILED, Step.WAIT, None),
        (FIRST_MISS, Step.WAIT, None),
        (CANCELLED, Step.CLOSE, State.NOT_APPLICABLE),
        (SUPERSEDED, Step.CLOSE, State.NOT_APPLICABLE),
    ],
)
def test_an_awaiting_operation_follows_its_verdict(judged: Judgement, step: Step, target: State | None) -> None:
    decided = decide(judged, WAITING, RETRYING)
    assert (decided.step, decided.target) == (step, target)


@pytest.mark.parametrize("judged", [ABSENT, FAILED, FIRST_MISS])
def test_past_the_deadline_a_person_decides_what_is_unproven_or_was_to_be_repeated(judged: Judgement) -> None:
    decided = decide(judged, replace(WAITING, overdue=True), RETRYING)
    assert (decided.target, decided.trigger) == (State.MANUAL_REVIEW, Trigger.PAST_DEADLINE)


def test_an_effect_that_exists_is_confirmed_however_late() -> None:
    assert decide(CORRECT, replace(WAITING, overdue=True), RETRYING).target is State.CONFIRMED


def test_used_up_attempts_are_not_repeated() -> None:
    decided = decide(ABSENT, replace(WAITING, attempts=3), RETRYING)
    assert (decided.step, decided.trigger) == (Step.REVIEW, Trigger.ATTEMPTS_USED_UP)


def test_what_would_make_a_second_effect_is_not_repeated_without_a_bound_on_how_late_one_shows() -> None:
    assert decide(ABSENT, replace(WAITING, repeatable=False), RETRYING).step is Step.REVIEW


@pytest.mark.parametrize("judged", [CORRECT, ABSENT, DIVERGENT, CANCELLED, SUPERSEDED])
def test_policy_may_ask_for_a_person_whatever_the_verdict(judged: Judgement) -> None:
    assert decide(judged, WAITING, ASKING).target is State.MANUAL_REVIEW


@pytest.mark.parametrize("judged", [ABSENT, DIVERGENT, SEVERAL])
def test_a_look_that_disagrees_with_a_confirmed_operation_is_for_a_person(judged: Judgement) -> None:
    assert decide(judged, replace(WAITING, state=State.CONFIRMED), RETRYING).target is State.MANUAL_REVIEW


@pytest.mark.parametrize("judged", [CORRECT, FAILED, FIRST_MISS, NO_PROBE, CANCELLED])
def test_a_confirmed_operation_stays_where_nothing_disagrees(judged: Judgement) -> None:
    assert decide(judged, replace(WAITING, state=State.CONFIRMED), RETRYING) == Decision(Step.WAIT, judged.reason)


@pytest.mark.parametrize("state", [State.MANUAL_REVIEW, State.RETRY_SCHEDULED])
def test_what_exists_is_never_sent_again(state: State) -> None:
    assert decide(CORRECT, replace(WAITING, state=state), RETRYING).target is State.CONFIRMED
    assert decide(ABSENT, replace(WAITING, state=state), RETRYING).step is Step.WAIT


def test_nothing_is_called_finished_while_its_effect_is_being_undone() -> None:
    undoing = replace(WAITING, state=State.MANUAL_REVIEW, undoing=True)
    assert decide(CORRECT, undoing, RETRYING).step is Step.WAIT


def test_a_superseded_retry_is_closed_with_its_reason() -> None:
    decided = decide(SUPERSEDED, replace(WAITING, state=State.RETRY_SCHEDULED), RETRYING)
    assert (decided.target, decided.closed_reason) == (State.NOT_APPLICABLE, ClosedReason.SUPERSEDED)


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("policy", [RETRYING, ASKING])
@pytest.mark.parametrize("overdue", [True, False])
@pytest.mark.parametrize("attempts", [1, 3])
def test_every_decision_is_a_transition_of_the_table(
    state: State, policy: TypePolicy, *, overdue: bool, attempts: int
) -> None:
    for judged in JUDGEMENTS:
        decided = decide(judged, Standing(state, attempts, overdue), policy)
        if decided.target and decided.trigger:
            find_transition(state, decided.target, trigger=decided.trigger, actor=ActorKind.RECONCILER)


@pytest.mark.parametrize("judged", [judged for judged in JUDGEMENTS if judged.verdict is Verdict.AMBIGUOUS])
@pytest.mark.parametrize("state", list(State))
def test_ambiguous_is_never_repeated(judged: Judgement, state: State) -> None:
    assert decide(judged, replace(WAITING, state=state), RETRYING).step is not Step.RETRY


def test_a_verdict_recommends_what_a_person_would_do() -> None:
    money = TypePolicy(financial=True, compensation="refund_order")
    assert [recommend(judged, money) for judged in (ABSENT, CORRECT, CANCELLED, SEVERAL, DIVERGENT, FAILED)] == [
        ActionName.REQUEUE,
        ActionName.CONFIRM,
        ActionName.CLOSE,
        ActionName.COMPENSATE,
        ActionName.COMPENSATE,
        None,
    ]


def test_looks_come_ever_later_and_at_the_deadline() -> None:
    policy = TypePolicy(window=Window(timedelta(minutes=5), timedelta(hours=1)))
    far, near = NOW + timedelta(days=1), NOW + timedelta(minutes=7)
    given: dict[str, Any] = {"missed_at": None, "now": NOW}
    assert look_again_at(FAILED, policy, looks=1, deadline_at=far, **given) == NOW + timedelta(minutes=10)
    assert look_again_at(FAILED, policy, looks=9, deadline_at=far, **given) == NOW + timedelta(hours=1)
    assert look_again_at(FAILED, policy, looks=1, deadline_at=near, **given) == near
    assert look_again_at(FAILED, policy, looks=1, deadline_at=NOW, **given) == NOW + timedelta(minutes=10)


def test_after_a_miss_the_next_look_comes_when_a_second_one_can_prove_absence() -> None:
    policy = TypePolicy(visibility_lag=timedelta(minutes=8))
    given: dict[str, Any] = {"looks": 3, "now": NOW, "deadline_at": NOW + timedelta(days=1)}
    assert look_again_at(FIRST_MISS, policy, missed_at=None, **given) == NOW + timedelta(minutes=8)
    earlier = NOW - timedelta(minutes=3)
    assert look_again_at(FIRST_MISS, policy, missed_at=earlier, **given) == NOW + timedelta(minutes=5)
    trailing = NOW - timedelta(minutes=8)
    assert look_again_at(FIRST_MISS, policy, missed_at=trailing, **given) == NOW + timedelta(minutes=2)
