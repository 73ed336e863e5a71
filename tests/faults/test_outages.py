"""Fault 34: the destination is away for a day."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

from sqlalchemy import func, select

from dashboard.db import reading
from dashboard.domain.policy import Window
from dashboard.models import OperationEvent
from dashboard.services import reconciliation
from tests.faults import host
from tests.faults.conftest import CHARGE, POLICIES, RECONCILER, Shop, database_now

NAMES = [f"op-{number:02}" for number in range(20)]
DAY = timedelta(hours=24)
LOOKING = replace(CHARGE, window=Window(timedelta(minutes=1), timedelta(hours=6)))
LOOKING_POLICIES = replace(POLICIES, types=MappingProxyType({"charge_order": LOOKING}))


def test_a_day_away_makes_no_storm_and_the_backlog_drains_in_order(
    shop: Shop, misbehave: Callable[[str], None]
) -> None:
    """One operation at a time asks whether it is back; nobody's attempts are used up, and no person is bothered."""
    soon = database_now(shop.database) + DAY / 2
    for name in NAMES:
        shop.register(name, deadline_at=soon)
    misbehave("refuse")
    shop.send()
    for step in a_day():
        asked = failures(shop)
        shop.wait(step)
        shop.send()
        assert failures(shop) - asked <= 1
    rows = [shop.row(name) for name in NAMES]
    assert {row.state for row in rows} <= {"pending", "retry_scheduled"}
    assert max(row.attempts for row in rows) < CHARGE.retry.max_attempts
    in_order = [row.operation_id for row in sorted(rows, key=lambda row: (row.next_attempt_at, row.id))]
    misbehave("")
    shop.wait()
    shop.send()
    assert host.effects() == in_order
    assert [shop.facts(name) for name in NAMES] == [(1, "confirmed")] * len(NAMES)


def test_a_day_without_an_answer_to_looks_reaches_people_only_by_the_deadline(
    shop: Shop, misbehave: Callable[[str], None]
) -> None:
    patient = Shop(shop.database, LOOKING_POLICIES)
    for name, deadline in (("soon", DAY / 2), ("late", DAY * 2)):
        patient.register(name, deadline_at=database_now(shop.database) + deadline)
    misbehave("lose the answer")
    patient.send()
    misbehave("refuse")
    for step in a_day():
        patient.wait(step)
        look(patient)
    assert patient.path("soon") == ["pending", "processing", "awaiting_confirmation", "manual_review"]
    assert patient.events("soon")[-1].reason == "past deadline"
    assert patient.path("late") == ["pending", "processing", "awaiting_confirmation"]
    assert looks(patient, "soon") + looks(patient, "late") <= 25
    misbehave("")
    patient.wait()
    patient.wait(timedelta(hours=6))
    look(patient)
    assert patient.facts("late") == (1, "confirmed")
    assert patient.facts("soon") == (1, "manual_review")


def a_day() -> Iterator[timedelta]:
    """Time as it passes: by the minute at first, then in longer steps until the day is over."""
    yield from [timedelta(minutes=1)] * 15
    yield from [timedelta(minutes=45)] * 32


def look(shop: Shop) -> None:
    """One pass over what is due by the policy's own window."""
    reconciliation.run(shop.database, policies=shop.policies, actor=RECONCILER, origin="test")


def failures(shop: Shop) -> int:
    with reading(shop.database) as session:
        counted = session.scalar(select(func.count()).where(OperationEvent.cause == "not_sent"))
    return counted or 0


def looks(shop: Shop, operation_id: str) -> int:
    return sum(event.kind == "probe" for event in shop.events(operation_id))
