"""Verdicts are named in a fixed order, and absence has to be proven."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.verdicts import Observation, Verdict, classify

SENT = datetime(2026, 3, 1, 12, tzinfo=UTC)
LAG = timedelta(seconds=30)
FRESH = Observation(candidates=0, as_of=SENT + LAG, sent_at=SENT, visibility_lag=LAG)

moments = st.datetimes(datetime(2026, 3, 1, 11), datetime(2026, 3, 1, 13), timezones=st.just(UTC))  # noqa: DTZ001
observations = st.builds(
    Observation,
    candidates=st.integers(0, 3),
    as_of=st.none() | moments,
    sent_at=st.none() | moments,
    visibility_lag=st.timedeltas(timedelta(0), timedelta(minutes=30)),
    missed_at=st.none() | moments,
)


def changed(observation: Observation, **changes: object) -> Observation:
    return dataclasses.replace(observation, **changes)  # type: ignore[arg-type]


def seen(**changes: object) -> Verdict:
    return classify(changed(FRESH, **changes))


def test_nothing_found_in_a_fresh_view_is_absent() -> None:
    assert seen() is Verdict.ABSENT


def test_one_candidate_that_agrees_is_correct() -> None:
    assert seen(candidates=1) is Verdict.CORRECT


def test_one_candidate_that_differs_is_divergent() -> None:
    assert seen(candidates=1, differs=True) is Verdict.DIVERGENT


@pytest.mark.parametrize(
    "changes",
    [
        {"failed": True},
        {"partial": True},
        {"candidates": 2},
        {"as_of": None},
        {"as_of": SENT + LAG - timedelta(microseconds=1)},
        {"authoritative": False},
        {"lagging": True},
        {"lagging": True, "missed_at": SENT + timedelta(seconds=1)},
    ],
)
def test_whatever_proves_nothing_is_ambiguous(changes: dict[str, object]) -> None:
    assert seen(**changes) is Verdict.AMBIGUOUS


def test_a_lagging_destination_needs_two_misses_apart() -> None:
    assert seen(lagging=True, missed_at=SENT) is Verdict.ABSENT
    assert seen(lagging=True, visibility_lag=timedelta(0), missed_at=FRESH.as_of) is Verdict.AMBIGUOUS


faults = st.fixed_dictionaries(
    {name: st.booleans() for name in ("failed", "partial", "differs", "authoritative", "lagging")}
)


@given(observations, faults, st.sampled_from(["cancelled", "superseded"]))
def test_not_applicable_comes_before_everything(observation: Observation, changes: dict[str, bool], rule: str) -> None:
    assert classify(changed(observation, **changes, **{rule: True})) is Verdict.NOT_APPLICABLE


@given(observations, faults, st.sampled_from(["failed", "partial"]))
def test_a_failed_or_partial_look_is_ambiguous_whatever_it_saw(
    observation: Observation, changes: dict[str, bool], fault: str
) -> None:
    assert classify(changed(observation, **{**changes, fault: True})) is Verdict.AMBIGUOUS


@given(observations, faults)
def test_a_determinate_verdict_needs_a_fresh_view_and_one_candidate_at_most(
    observation: Observation, changes: dict[str, bool]
) -> None:
    found = changed(observation, **changes)
    if classify(found) is Verdict.AMBIGUOUS:
        return
    assert found.candidates <= 1
    assert found.as_of is not None
    assert found.sent_at is None or found.as_of >= found.sent_at + found.visibility_lag
    assert (classify(found) is Verdict.ABSENT) == (found.candidates == 0)
