"""Whatever changes rows, and however folding is cut off, the figures say what the tables say."""

import random
from datetime import date, timedelta
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import event, func, select, text, update
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact, transaction
from dashboard.domain.facts import Fact, Period
from dashboard.domain.permissions import Scope
from dashboard.models import Operation, OperationFact, RollupDay, RollupDelta
from dashboard.queries import trends
from dashboard.services import rollup_checks, rollup_rebuild, rollups
from tests import factories

ALL = (Scope(None, None),)
PERIOD = Period.of(days=30, now=factories.NOW)
TENANTS, TYPES = ("shop-a", "shop-b"), ("charge", "ship", "mail")
STATES = ("pending", "confirmed", "manual_review", "not_applicable")
VERDICTS = (None, "absent", "correct", "divergent")
STEPS: tuple[dict[str, Any], ...] = (
    {"kind": "transition", "to_state": "retry_scheduled", "cause": "throttled"},
    {"kind": "transition", "from_state": "confirmed", "to_state": "manual_review"},
    {"kind": "probe", "evidence": {"failed": "timed_out"}},
    {"kind": "note"},
)


PLAN = """
    EXPLAIN QUERY PLAN SELECT count FROM rollup_days
    WHERE fact = 'verdict' AND day IN ('2026-11-30', '2026-11-29') AND tenant = ''
"""


class BrokenOffError(Exception):
    """The process ended here."""


def _change_at_random(session: Session, dice: random.Random) -> None:
    """What hosts and people do, in ORM and in plain SQL."""
    rows = session.scalars(select(Operation).order_by(Operation.id)).all()
    kind = dice.choice(("insert", "insert", "update", "update", "event", "rename", "delete"))
    at = factories.NOW - timedelta(hours=dice.randrange(24 * 5), milliseconds=dice.randrange(10**6))
    if kind == "insert" or not rows:
        values: dict[str, Any] = {
            "tenant": dice.choice(TENANTS),
            "type": dice.choice(TYPES),
            "verdict": dice.choice(VERDICTS),
        }
        state = dice.choice(STATES)
        done = at + timedelta(seconds=dice.randrange(-60, 9000)) if state == "confirmed" else None
        factories.operation(session, created_at=at, state=state, confirmed_at=done, **values)
        return
    row = dice.choice(rows)
    number = {"number": row.id}
    if kind == "event":
        last = session.scalar(
            text("SELECT coalesce(max(seq), 0) FROM operation_events WHERE operation_id = :number"), number
        )
        factories.event(session, row, at=at, seq=int(last or 0) + 1, **dice.choice(STEPS))
    elif kind == "rename":
        session.execute(
            text("UPDATE operations SET type = :type WHERE id = :number"), {"type": dice.choice(TYPES), **number}
        )
    elif kind == "delete":
        told = "SELECT operation_id FROM operation_events"
        session.execute(text(f"DELETE FROM operations WHERE id = :number AND id NOT IN ({told})"), number)  # noqa: S608
    else:
        values = {
            "verdict": dice.choice(VERDICTS),
            "state": dice.choice(STATES),
            "confirmed_at": dice.choice((None, at)),
        }
        session.execute(update(Operation).where(Operation.id == row.id).values(**values))
    session.expire_all()


def _no_drift(database: Database) -> None:
    assert rollup_checks.check(database) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_figures_are_what_the_tables_say_under_random_changes(database: Database, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    for _ in range(12):
        with transaction(database) as session:
            for _ in range(8):
                _change_at_random(session, dice)
        if dice.random() < 0.6:
            transact(database, lambda session: rollups.fold_some(session, at_once=dice.randrange(1, 40)))
        if dice.random() < 0.3:
            rollup_rebuild.rebuild(database, days=[factories.NOW.date() - timedelta(days=dice.randrange(5))])
    _no_drift(database)
    rollups.fold(database)
    _no_drift(database)
    _scoped_counts_are_right(database)


def _scoped_counts_are_right(database: Database) -> None:
    for scopes in (
        ALL,
        (Scope("shop-a", None),),
        (Scope(None, "ship"), Scope("shop-b", None)),
        (Scope("shop-a", "mail"), Scope(None, "mail"), Scope("shop-b", "charge")),
        (),
    ):
        with reading(database) as session:
            found = trends.counts(session, fact=Fact.CREATED, period=PERIOD, scopes=scopes).by_type
            rows = session.execute(select(Operation.tenant, Operation.type)).all()
        within = [row.type for row in rows if any(s.includes(tenant=row.tenant, type=row.type) for s in scopes)]
        assert found == {name: {"": within.count(name)} for name in set(within)}


def test_folding_cut_off_at_any_statement_loses_nothing_and_counts_nothing_twice(database: Database) -> None:
    with transaction(database) as session:
        for state in ("confirmed", "pending"):
            factories.operation(session, state=state, confirmed_at=factories.NOW, verdict="absent")
    cut = 0
    while _is_cut_off(database, cut):
        _no_drift(database)
        cut += 1
    assert cut > 4
    with reading(database) as session:
        assert session.scalar(select(func.count()).select_from(RollupDelta)) == 0
    _no_drift(database)


def _is_cut_off(database: Database, statement: int) -> bool:
    """Fold, and break off before the statement of this number; False where it came to its end before."""
    seen = 0

    def break_off(*_details: object) -> None:
        nonlocal seen
        seen += 1
        if seen > statement:
            raise BrokenOffError

    event.listen(database.engine, "before_cursor_execute", break_off)
    try:
        rollups.fold(database)
    except BrokenOffError:
        return True
    finally:
        event.remove(database.engine, "before_cursor_execute", break_off)
    return False


def test_writers_and_folders_and_a_rebuild_at_once_leave_exact_figures(database: Database) -> None:
    def write(tenant: str) -> None:
        for _ in range(12):
            transact(database, lambda session: factories.operation(session, tenant=tenant, verdict="absent"))

    def fold() -> None:
        for _ in range(6):
            transact(database, lambda session: rollups.fold_some(session, at_once=7))

    def count_anew() -> None:
        for _ in range(4):
            rollup_rebuild.rebuild(database, days=[factories.NOW.date()])

    jobs = [Thread(target=write, args=("a",)), Thread(target=write, args=("b",)), *(Thread(target=fold) for _ in "12")]
    jobs.append(Thread(target=count_anew))
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    with reading(database) as session:
        assert trends.counts(session, fact=Fact.VERDICT, period=PERIOD, scopes=ALL).by_label == {"absent": 24}
    _no_drift(database)


def test_rows_from_before_the_triggers_are_counted_by_a_rebuild(database: Database) -> None:
    with transaction(database) as session:
        row = factories.operation(session, state="confirmed", confirmed_at=factories.NOW, verdict="correct")
        for number, step in enumerate(STEPS, 1):
            factories.event(session, row, seq=number, **step)
        for table in (OperationFact, RollupDelta):
            session.execute(text(f"DELETE FROM {table.__tablename__}"))  # noqa: S608 - names of ours
        session.execute(text("UPDATE rollup_state SET built_at = NULL"))
    assert len(rollup_checks.check(database)) > 3
    rollup_rebuild.rebuild(database)
    _no_drift(database)
    with reading(database) as session:
        facts = session.execute(select(OperationFact.fact, OperationFact.label).order_by(OperationFact.fact)).all()
        assert trends.freshness(session).built_at is not None
    assert [fact.label for fact in facts] == ["", "timed_out", "throttled"]


def test_a_drift_is_named_and_kept_and_mended_by_counting_the_day_anew(database: Database) -> None:
    with transaction(database) as session:
        factories.operation(session, verdict="absent")
    rollups.fold(database)
    with transaction(database) as session:
        session.execute(update(RollupDay).where(RollupDay.fact == "verdict").values(count=3))
    drifts = rollup_checks.check(database, days=[factories.NOW.date()])
    assert str(drifts[0]) == ("2026-11-30 verdict absent, all tenants, type charge_order: 3 counted, 1 in the tables")
    with reading(database) as session:
        found = trends.freshness(session)
    assert (found.drifts, found.first_drift) == (2, str(drifts[0]))
    rollup_rebuild.rebuild(database, days=[factories.NOW.date()])
    _no_drift(database)


def test_many_types_and_tenants_take_one_query(sqlite_database: Database) -> None:
    with transaction(sqlite_database) as session:
        for number in range(300):
            factories.operation(session, tenant=f"t{number}", type=f"type{number}", verdict="absent")
    rollups.fold(sqlite_database)
    statements: list[str] = []
    event.listen(sqlite_database.engine, "before_cursor_execute", lambda *details: statements.append(details[2]))
    with reading(sqlite_database) as session:
        found = trends.counts(session, fact=Fact.VERDICT, period=PERIOD, scopes=ALL)
        assert [one for one in statements if not one.startswith("BEGIN")] == statements[1:2]
        plan = session.connection().exec_driver_sql(PLAN).all()
    assert found.total == len(found.by_type) == 300
    assert "fact=? AND day=? AND tenant=?" in plan[0][3]


def test_an_outcome_that_changes_long_after_its_day_is_counted_on_that_day(database: Database) -> None:
    with transaction(database) as session:
        factories.operation(session, verdict="absent", created_at=factories.NOW - timedelta(days=20))
    rollups.fold(database)
    with transaction(database) as session:
        session.execute(update(Operation).values(verdict="correct"))
    rollups.fold(database)
    with reading(database) as session:
        found = trends.counts(session, fact=Fact.VERDICT, period=PERIOD, scopes=ALL)
    assert found.by_day == {date(2026, 11, 10): {"correct": 1}}


def test_a_moment_that_sqlite_cannot_read_counts_nowhere_and_stops_nobody(sqlite_database: Database) -> None:
    with transaction(sqlite_database) as session:
        factories.operation(session, operation_id="odd")
        factories.operation(session)
    for odd in ("2026/11/30 12:00:00", "0000-01-01 00:00:00.000000", "soon"):
        with transaction(sqlite_database) as session:
            session.execute(text("UPDATE operations SET created_at = :odd WHERE operation_id = 'odd'"), {"odd": odd})
        rollups.fold(sqlite_database)
        assert count(sqlite_database) == 1
    with transaction(sqlite_database) as session:
        session.execute(update(Operation).values(created_at=factories.NOW))
    rollups.fold(sqlite_database)
    assert (count(sqlite_database), rollup_checks.check(sqlite_database)) == (2, [])


def count(database: Database) -> int:
    with reading(database) as session:
        return trends.counts(session, fact=Fact.CREATED, period=PERIOD, scopes=ALL).total
