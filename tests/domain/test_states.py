"""The one table of transitions: nothing leaves it, and terminal states stay shut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.errors import TransitionError
from dashboard.domain.states import (
    OPEN,
    TERMINAL,
    TRANSITIONS,
    ActorKind,
    State,
    Transition,
    Trigger,
    find_transition,
    targets,
)

steps = st.lists(st.tuples(st.sampled_from(State), st.sampled_from(Trigger), st.sampled_from(ActorKind)), max_size=60)
PAIRS = {(row.source, row.target) for row in TRANSITIONS}
REOPENING = {Trigger.REOPEN, Trigger.VERDICT_ABSENT, Trigger.VERDICT_DIVERGENT, Trigger.VERDICT_AMBIGUOUS}

# Design section 3, written out a second time on purpose.
DESIGN = {
    "pending": {"processing", "not_applicable"},
    "processing": {"confirmed", "awaiting_confirmation", "retry_scheduled", "manual_review"},
    "retry_scheduled": {"processing", "confirmed", "manual_review", "not_applicable"},
    "awaiting_confirmation": {"confirmed", "retry_scheduled", "manual_review", "not_applicable"},
    "manual_review": {"retry_scheduled", "compensated", "confirmed", "not_applicable"},
    "confirmed": {"manual_review"},
    "compensated": {"manual_review"},
    "not_applicable": {"manual_review"},
}


def test_the_table_has_exactly_the_designed_pairs() -> None:
    assert {(source, target) for source, reached in DESIGN.items() for target in reached} == PAIRS


def test_every_state_is_either_open_or_terminal() -> None:
    assert set(State) == OPEN | TERMINAL
    assert not OPEN & TERMINAL


def attempt(state: State, target: State, trigger: Trigger, actor: ActorKind) -> State:
    try:
        return find_transition(state, target, trigger=trigger, actor=actor).target
    except TransitionError:
        return state


@given(steps)
def test_no_sequence_of_tries_leaves_the_table(tries: list[tuple[State, Trigger, ActorKind]]) -> None:
    state = State.PENDING
    for target, trigger, actor in tries:
        reached = attempt(state, target, trigger, actor)
        assert reached is state or ((state, reached) in PAIRS and reached is target)
        assert state not in TERMINAL or reached is state or trigger in REOPENING
        state = reached


@given(st.lists(st.integers(min_value=0), max_size=40))
def test_every_walk_along_the_table_can_go_on(choices: list[int]) -> None:
    state = State.PENDING
    for choice in choices:
        ways = [row for row in TRANSITIONS if row.source is state]
        assert ways
        state = ways[choice % len(ways)].target


@pytest.mark.parametrize("row", [row for row in TRANSITIONS if row.source in TERMINAL])
def test_a_terminal_state_is_left_only_by_reopen_or_a_disagreeing_probe(row: Transition) -> None:
    assert row.target is State.MANUAL_REVIEW
    assert row.triggers <= REOPENING


def test_nothing_returns_to_pending() -> None:
    assert State.PENDING not in {row.target for row in TRANSITIONS}


def test_a_lost_lease_awaits_confirmation() -> None:
    assert targets(State.PROCESSING, trigger=Trigger.LEASE_LOST) is State.AWAITING_CONFIRMATION


def test_no_machine_takes_a_decision_of_a_person() -> None:
    for row in TRANSITIONS:
        if row.triggers & {Trigger.REQUEUE, Trigger.CLOSE, Trigger.CONFIRM, Trigger.ESCALATE, Trigger.REOPEN}:
            assert row.actors == {ActorKind.USER, ActorKind.API}


def test_no_person_speaks_for_a_probe_or_worker() -> None:
    for row in TRANSITIONS:
        if any(trigger.startswith("verdict_") or trigger is Trigger.CLAIM for trigger in row.triggers):
            assert ActorKind.USER not in row.actors


@pytest.mark.parametrize(
    ("trigger", "source", "target"),
    [
        (Trigger.REQUEUE, State.MANUAL_REVIEW, State.RETRY_SCHEDULED),
        (Trigger.COMPENSATE, State.MANUAL_REVIEW, State.COMPENSATED),
        (Trigger.CONFIRM, State.MANUAL_REVIEW, State.CONFIRMED),
        (Trigger.CLOSE, State.PENDING, State.NOT_APPLICABLE),
        (Trigger.ESCALATE, State.AWAITING_CONFIRMATION, State.MANUAL_REVIEW),
        (Trigger.REOPEN, State.COMPENSATED, State.MANUAL_REVIEW),
    ],
)
def test_an_action_leads_to_one_state(trigger: Trigger, source: State, target: State) -> None:
    assert targets(source, trigger=trigger) is target


@pytest.mark.parametrize(
    ("source", "trigger"),
    [(State.CONFIRMED, Trigger.REQUEUE), (State.AWAITING_CONFIRMATION, Trigger.VERDICT_ABSENT)],
)
def test_no_target_or_a_choice_of_targets_is_an_error(source: State, trigger: Trigger) -> None:
    with pytest.raises(TransitionError) as refused:
        targets(source, trigger=trigger)
    assert refused.value.code == "transition_not_allowed"
    assert refused.value.target is None


def test_the_wrong_actor_is_refused() -> None:
    with pytest.raises(TransitionError):
        find_transition(State.PENDING, State.PROCESSING, trigger=Trigger.CLAIM, actor=ActorKind.USER)
