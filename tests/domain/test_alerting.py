"""Alerts as pure rules: from breached to resolved, what a group tells, and words for every way to be breached."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.alert_words import TITLES, TO_DO, WRONG, in_english, rows_path, what_is_wrong, what_to_do
from dashboard.domain.alerting import (
    INSTALLATION_RULES,
    TYPE_RULES,
    UNITS,
    AlertState,
    Breach,
    NoticeKind,
    Rule,
    Severity,
    Standing,
    Told,
    group_of,
    next_notice,
    severity,
    step,
)
from tests.factories import NOW

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
PENDING = Standing(AlertState.PENDING, NOW)
FIRING = Standing(AlertState.FIRING, NOW)
CLEARING = replace(FIRING, clear_since=NOW + HOUR)
RESOLVED = replace(CLEARING, state=AlertState.RESOLVED)
TOLD = Told(NOW)


@pytest.mark.parametrize(
    ("before", "breached", "after", "expected"),
    [
        (None, False, HOUR, None),
        (None, True, timedelta(), PENDING),
        (PENDING, True, 9 * MINUTE, PENDING),
        (PENDING, True, 10 * MINUTE, FIRING),
        (PENDING, False, HOUR, None),
        (FIRING, True, HOUR, FIRING),
        (FIRING, False, HOUR, CLEARING),
        (CLEARING, False, HOUR + 4 * MINUTE, CLEARING),
        (CLEARING, False, HOUR + 5 * MINUTE, RESOLVED),
        (CLEARING, True, HOUR + 4 * MINUTE, FIRING),
    ],
)
def test_the_table_of_states(
    before: Standing | None, *, breached: bool, after: timedelta, expected: Standing | None
) -> None:
    found = step(before, breached=breached, now=NOW + after, lasting=10 * MINUTE, clear_for=5 * MINUTE)
    assert found == expected


def test_what_needs_not_last_fires_at_once() -> None:
    found = step(None, breached=True, now=NOW, lasting=timedelta(), clear_for=timedelta())
    assert found == FIRING
    assert step(found, breached=False, now=NOW, lasting=timedelta(), clear_for=timedelta()) == replace(
        FIRING, state=AlertState.RESOLVED, clear_since=NOW
    )


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 400)), max_size=60))
def test_nothing_ends_that_was_breached_within_the_clearing_time(looks: list[tuple[bool, int]]) -> None:
    standing, now, breached_at = None, NOW, NOW
    for breached, seconds in looks:
        now += timedelta(seconds=seconds)
        breached_at = now if breached else breached_at
        standing = step(standing, breached=breached, now=now, lasting=timedelta(), clear_for=5 * MINUTE)
        if standing is not None and standing.state is AlertState.RESOLVED:
            assert now - breached_at >= 5 * MINUTE
            standing = None


@pytest.mark.parametrize(
    ("told", "known", "audible", "after", "expected"),
    [
        (None, 0, 0, HOUR, None),
        (None, 2, 2, HOUR, NoticeKind.FIRING),
        (TOLD, 2, 2, 3 * HOUR, None),
        (TOLD, 2, 1, 4 * HOUR, NoticeKind.REPEAT),
        (TOLD, 1, 0, 4 * HOUR, None),
        (TOLD, 0, 0, MINUTE, NoticeKind.RESOLVED),
        (Told(NOW, muted=True), 1, 0, 9 * HOUR, None),
        (Told(NOW, muted=True), 1, 1, MINUTE, NoticeKind.FIRING),
        (Told(NOW, muted=True), 0, 0, MINUTE, NoticeKind.RESOLVED),
    ],
)
def test_what_a_group_tells(
    told: Told | None, known: int, audible: int, after: timedelta, expected: NoticeKind | None
) -> None:
    found = next_notice(told, known=known, audible=audible, freed=False, now=NOW + after, repeat=4 * HOUR)
    assert found is expected


@pytest.mark.parametrize(("told", "expected"), [(None, NoticeKind.FIRING), (TOLD, NoticeKind.FIRING)])
def test_what_was_silenced_until_now_is_told_at_once(told: Told | None, expected: NoticeKind) -> None:
    assert next_notice(told, known=2, audible=2, freed=True, now=NOW + MINUTE, repeat=4 * HOUR) is expected


def test_a_group_is_a_destination_a_type_without_one_or_a_rule_of_the_installation() -> None:
    assert group_of(Rule.AGE, "charge", destination="payments") == "destination:payments"
    assert group_of(Rule.AGE, "charge", destination="") == "type:charge"
    # Dead letters are no reason to learn of a broken audit log hours later.
    assert group_of(Rule.AUDIT, "", destination="") == "installation:audit"


def test_every_rule_belongs_to_types_or_to_the_installation_and_has_a_unit() -> None:
    assert {*TYPE_RULES, *INSTALLATION_RULES} == set(Rule) == set(UNITS) == set(TITLES)
    assert len(TYPE_RULES) + len(INSTALLATION_RULES) == len(Rule)


def test_every_way_to_be_breached_has_words_and_a_remedy() -> None:
    assert set(WRONG) == set(TO_DO)
    assert {rule for rule, _ in WRONG} == set(Rule)
    for rule, cause in WRONG:
        breach = Breach(rule, "charge", Decimal("0.5"), Decimal("0.02"), sample=60, cause=cause, about="hook")
        assert "%" not in in_english(what_is_wrong(breach)).replace(" %", "")
        assert what_to_do(breach)
        assert rows_path(breach, now=NOW).startswith("/")


def test_values_are_written_for_people() -> None:
    breach = Breach(Rule.DIVERGENCE, "charge\x1b[31m", Decimal("0.02500"), Decimal("0.02"), sample=12_000)
    text = in_english(what_is_wrong(breach))
    assert text.startswith("Of 12,000 operations of charge")
    assert text.endswith("the limit is 2 %.")
    assert "\x1b" not in text


def test_standstill_and_a_broken_log_are_critical() -> None:
    breaches = [Breach(rule, "", Decimal(1), Decimal(0)) for rule in Rule]
    critical = {breach.rule for breach in breaches if severity(breach) is Severity.CRITICAL}
    assert critical == {Rule.RECONCILER, Rule.RELAY, Rule.AUDIT_BROKEN}
