from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import func, select

from dashboard.db import reading
from dashboard.models import OperationEvent
from tests.faults import host
from tests.faults.conftest import Shop

NAMES = [f"op-{number:02}" for number in range(30)]
MINUTES = 40


def test_an_outage_makes_no_storm_and_the_backlog_drains_in_order(shop: Shop, misbehave: Callable[[str], None]) -> None:
    """Fault 34: the destination is away for long; one operation at a time asks whether it is back."""
    for name in NAMES:
        shop.register(name)
    misbehave("refuse")
    shop.send()
    at_first = failures(shop)
    for _ in range(MINUTES):
        shop.wait(timedelta(minutes=1))
        shop.send()
    assert failures(shop) - at_first <= MINUTES
    rows = [shop.row(name) for name in NAMES]
    assert {row.state for row in rows} <= {"pending", "retry_scheduled"}
    never_tried = [row.operation_id for row in rows if row.state == "pending"]
    misbehave("")
    for _ in range(4):
        shop.wait()
        shop.send()
    assert [name for name in host.effects() if name in never_tried] == never_tried
    assert [shop.facts(name) for name in NAMES] == [(1, "confirmed")] * len(NAMES)


def failures(shop: Shop) -> int:
    with reading(shop.database) as session:
        counted = session.scalar(select(func.count()).where(OperationEvent.cause == "not_sent"))
    return counted or 0
