"""What hosts and people do to rows, at random but repeatable: through our models and in plain SQL."""

import random
from collections import Counter
from datetime import timedelta
from typing import Any

from sqlalchemy import insert, select, text, update
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transaction
from dashboard.domain.facts import Fact, Period
from dashboard.domain.histograms import bucket_of
from dashboard.domain.permissions import Scope
from dashboard.models import Operation, OperationFact
from dashboard.queries import trends
from tests import factories

TENANTS, TYPES = ("shop-a", "shop-b", "tienda"), ("charge", "ship", "mail", "refund")
STATES = ("pending", "confirmed", "manual_review", "not_applicable")
VERDICTS = (None, "absent", "correct", "divergent")
# From the past, of today and, by a wrong clock, from the days to come.
DAYS = (-3, 4)
MILLISECOND = timedelta(milliseconds=1)
PERIOD = Period(factories.NOW.date() - timedelta(days=5), factories.NOW.date() + timedelta(days=5))
BY_HAND = (
    "UPDATE operations SET type = :type WHERE id = :number",
    "UPDATE operations SET tenant = :tenant WHERE id = :number",
    "UPDATE operations SET verdict = :verdict WHERE id = :number",
    "UPDATE operations SET state = 'confirmed', confirmed_at = created_at WHERE id = :number",
    "UPDATE operations SET state = 'pending', confirmed_at = NULL WHERE id = :number",
    "UPDATE operations SET created_at = deadline_at WHERE id = :number",
    "DELETE FROM operations WHERE id = :number AND id NOT IN (SELECT operation_id FROM operation_events)",
)


def change(session: Session, dice: random.Random, *, times: int, tenants: tuple[str, ...] = TENANTS) -> None:
    """So many times change a row of these tenants, or add one, in one of the ways there are."""
    for _ in range(times):
        _change_once(session, dice, tenants)
        session.expire_all()


def _change_once(session: Session, dice: random.Random, tenants: tuple[str, ...]) -> None:
    at = factories.NOW + timedelta(seconds=dice.randrange(DAYS[0] * 86400, DAYS[1] * 86400))
    numbers = session.scalars(select(Operation.id).where(Operation.tenant.in_(tenants))).all()
    way = dice.choice(("add", "add", "ours", "by_hand", "by_hand", "event"))
    if way == "add" or not numbers:
        state = dice.choice(STATES)
        done = at + timedelta(seconds=dice.randrange(-9000, 90_000)) if state == "confirmed" else None
        values: dict[str, Any] = {"type": dice.choice(TYPES), "verdict": dice.choice(VERDICTS), "state": state}
        factories.operation(session, tenant=dice.choice(tenants), created_at=at, confirmed_at=done, **values)
        return
    number = dice.choice(numbers)
    if way == "event":
        _event(session, number, dice)
    elif way == "ours":
        values = {"verdict": dice.choice(VERDICTS), "state": dice.choice(STATES), "confirmed_at": at}
        session.execute(update(Operation).where(Operation.id == number).values(**values))
    else:
        given = {"type": dice.choice(TYPES), "tenant": dice.choice(tenants), "verdict": dice.choice(VERDICTS)}
        session.execute(text(dice.choice(BY_HAND)), {**given, "number": number})


def _event(session: Session, number: int, dice: random.Random) -> None:
    row = session.get_one(Operation, number)
    last = session.scalar(
        text("SELECT coalesce(max(seq), 0) FROM operation_events WHERE operation_id = :number"), {"number": number}
    )
    cause = dice.choice((None, "throttled", "not_sent"))
    moved = {"kind": "transition", "to_state": "retry_scheduled", "cause": cause, "actor_kind": "worker"}
    factories.event(session, row, seq=int(last or 0) + 1, at=factories.NOW, **moved)


def add_a_day_of_work(database: Database, many: int) -> None:
    """So many operations that were created, judged and confirmed: three changes each."""
    at = factories.NOW
    table = Operation.metadata.tables["operations"]
    with transaction(database) as session:
        row = factories.operation(session, state="confirmed", confirmed_at=at, verdict="correct")
        session.flush()
        columns = [column for column in table.columns if column.name != "id" and column.computed is None]
        values = dict(session.execute(select(*columns).where(table.c.id == row.id)).mappings().one())
        rows = [
            {**values, "operation_id": f"day-{number}", "type": f"t{number % 40}", "tenant": f"shop-{number % 500}"}
            for number in range(many)
        ]
        session.execute(insert(table), rows[1:])


def grants(dice: random.Random) -> tuple[Scope, ...]:
    """Up to four grants, of any width, that may overlap."""
    return tuple(Scope(dice.choice((None, *TENANTS)), dice.choice((None, *TYPES))) for _ in range(dice.randrange(0, 5)))


def must_equal_rows(database: Database, scopes: tuple[Scope, ...]) -> None:
    """Each figure within these grants is what a loop over the rows of the same moment gives."""
    with reading(database) as session:
        rows = [row for row in session.scalars(select(Operation)) if _within(row, scopes)]
        listed = [row for row in session.scalars(select(OperationFact)) if _within(row, scopes)]
        found = trends.each_count(session, facts=tuple(Fact), period=PERIOD, scopes=scopes)
        times = trends.durations(session, period=PERIOD, scopes=scopes)
        sums = trends.sums(session, facts=(Fact.VERDICT,), period=PERIOD, scopes=scopes)
    confirmed = [(row.created_at, row.confirmed_at) for row in rows if row.state == "confirmed" and row.confirmed_at]
    verdicts = Counter((row.type, row.verdict) for row in rows if row.verdict)
    assert _by_day(found[Fact.CREATED]) == Counter(row.created_at.date() for row in rows)
    assert _by_day(found[Fact.CONFIRMED]) == Counter(done.date() for _, done in confirmed)
    assert {(each.type, each.label): each.count for each in sums} == verdicts
    assert found[Fact.VERDICT].by_label == Counter(row.verdict for row in rows if row.verdict)
    assert found[Fact.RETRY].by_label == Counter(row.label for row in listed)
    assert times.all.buckets == Counter(bucket_of((done - at) / MILLISECOND) for at, done in confirmed)


def _within(row: Any, scopes: tuple[Scope, ...]) -> bool:
    return any(scope.includes(tenant=row.tenant, type=row.type) for scope in scopes)


def _by_day(counts: trends.Counts) -> dict[Any, int]:
    return {day: sum(labels.values()) for day, labels in counts.by_day.items()}
