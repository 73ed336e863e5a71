"""Whoever has few grants reads what lies within them by an index, not all there ever was."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Scope
from dashboard.domain.states import State
from dashboard.models import Operation, ReconciliationFinding, ReconciliationRun
from dashboard.queries.actions import ActionFilter, count_actions, list_actions
from dashboard.queries.detail import detail_of
from dashboard.queries.keyset import Position, encode
from dashboard.queries.operations import SORTS, OperationFilter, count_operations, list_operations
from dashboard.queries.reconciliation import NEWEST, RunFilter, list_runs
from tests import factories
from tests.factories import NOW
from tests.services.plans import plans
from tests.services.test_open_rows import Row

TENANTS = ("tienda-es", "loja-br", "shop-uk")
TYPES = ("charge_order", "sync_customer", "send_message")
SCOPES = (
    (Scope("tienda-es", "charge_order"),),
    (Scope("tienda-es", None),),
    (Scope(None, "charge_order"),),
    (Scope("tienda-es", None), Scope("loja-br", "charge_order"), Scope(None, "sync_customer")),
)
POSITIONS = [Position(), Position(after=encode(NEWEST, Row(9, 9))), Position(before=encode(NEWEST, Row(9, 9)))]


@pytest.mark.parametrize("scopes", SCOPES, ids=range(len(SCOPES)))
def test_actions_are_read_by_their_scope(sqlite_database: Database, scopes: tuple[Scope, ...]) -> None:
    with reading(sqlite_database) as session, plans(session, table="actions") as read:
        for position in POSITIONS:
            list_actions(session, ActionFilter(), scopes=scopes, position=position, now=NOW)
        count_actions(session, [ActionFilter()], scopes=scopes, now=NOW)
    assert read
    assert read <= {"ix_actions_scope", "ix_actions_tenant", "ix_actions_type"}


@pytest.mark.parametrize("scopes", SCOPES, ids=range(len(SCOPES)))
def test_runs_are_read_by_the_scope_of_their_findings(sqlite_database: Database, scopes: tuple[Scope, ...]) -> None:
    with reading(sqlite_database) as session, plans(session, table="reconciliation_findings") as read:
        for position in POSITIONS:
            list_runs(session, RunFilter(), scopes=scopes, position=position)
    assert read
    assert read <= {f"ix_reconciliation_findings_{name}" for name in ("scope", "tenant", "type")}


@pytest.mark.parametrize("filters", [OperationFilter(), OperationFilter(states=frozenset({State.CONFIRMED}))])
@pytest.mark.parametrize("scopes", SCOPES, ids=range(len(SCOPES)))
def test_operations_that_ended_are_read_by_their_scope(
    sqlite_database: Database, scopes: tuple[Scope, ...], filters: OperationFilter
) -> None:
    here = encode(SORTS["newest"], Row(NOW, 9))
    with reading(sqlite_database) as session, plans(session) as read:
        for position in (Position(), Position(after=here), Position(before=here)):
            list_operations(session, filters, scopes=scopes, sort=SORTS["newest"], position=position, now=NOW)
        count_operations(session, filters, scopes=scopes, now=NOW)
    assert read
    assert read <= {"ix_operations_tenant_type", "ix_operations_tenant", "ix_operations_type"}


@pytest.mark.parametrize("scopes", SCOPES, ids=range(len(SCOPES)))
def test_pages_of_operations_lose_none_and_repeat_none(database: Database, scopes: tuple[Scope, ...]) -> None:
    mine = transact(database, partial(_operations, scopes))
    assert len(mine) > 4
    found: list[str] = []
    position = Position(limit=2)
    with reading(database) as session:
        while True:
            page = list_operations(
                session, OperationFilter(), scopes=scopes, sort=SORTS["newest"], position=position, now=NOW
            )
            found += [row.operation_id for row in page.rows]
            if page.next is None:
                break
            position = Position(after=page.next, limit=2)
        assert count_operations(session, OperationFilter(), scopes=scopes, now=NOW).value == len(mine)
    assert found == mine


def _operations(scopes: tuple[Scope, ...], session: Session) -> list[str]:
    """Some of each tenant and type, some at one moment; the ids of those in these grants, newest first."""
    mine = []
    for count in range(54):
        tenant, kind = TENANTS[count % 3], TYPES[count // 3 % 3]
        made = factories.operation(session, tenant=tenant, type=kind, created_at=NOW + timedelta(minutes=count // 4))
        if any(scope.includes(tenant=tenant, type=kind) for scope in scopes):
            mine.append(made.operation_id)
    return mine[::-1]


@pytest.mark.parametrize("scopes", SCOPES, ids=range(len(SCOPES)))
def test_pages_of_runs_lose_none_and_repeat_none(database: Database, scopes: tuple[Scope, ...]) -> None:
    mine = transact(database, partial(_found_by_runs, scopes))
    assert len(mine) > 4
    with reading(database) as session:
        forth = _walk(session, scopes, "next")
        back = _walk(session, scopes, "previous", before=encode(NEWEST, Row(0, 0)))
    assert forth == mine
    assert back == mine


def _found_by_runs(scopes: tuple[Scope, ...], session: Session) -> list[int]:
    """Some runs with findings here and there; the numbers of those that a person of these grants sees, newest first."""
    mine = []
    operation = factories.operation(session)
    for count in range(24):
        run = ReconciliationRun(state="finished", origin="worker", started_by="w1", observe=False, started_at=NOW)
        session.add(run)
        session.flush()
        places = [(TENANTS[(count + each) % 3], TYPES[count * each % 3]) for each in range(count % 4)]
        for tenant, kind in places:
            session.add(_finding(run_id=run.id, operation_id=operation.id, tenant=tenant, type=kind))
        if any(scope.includes(tenant=tenant, type=kind) for tenant, kind in places for scope in scopes):
            mine.append(run.id)
    return mine[::-1]


def _finding(**where: Any) -> ReconciliationFinding:
    told = {"verdict": "absent", "response": "left", "reason": "observing", "state": "awaiting_confirmation"}
    return ReconciliationFinding(at=NOW, attempts=1, applied=False, **told, **where)


def _walk(session: Session, scopes: tuple[Scope, ...], way: str, *, before: str | None = None) -> list[int]:
    """The numbers of all pages of two, in the order of the list."""
    found: list[int] = []
    position = Position(before=before, limit=2)
    while True:
        page = list_runs(session, RunFilter(), scopes=scopes, position=position)
        numbers = [row.number for row in page.rows]
        found = found + numbers if way == "next" else numbers + found
        cursor = getattr(page, way)
        if cursor is None:
            return found
        position = Position(**{"after" if way == "next" else "before": cursor}, limit=2)


def test_relatives_are_looked_up_where_nearly_no_operation_has_any(sqlite_database: Database) -> None:
    told = "INSERT INTO sqlite_stat1 VALUES ('operations', 'ix_operations_parent_id', '1000000 100001')"
    transact(sqlite_database, lambda session: [session.execute(text(each)) for each in ("ANALYZE", told)] and None)
    sqlite_database.dispose()
    with reading(sqlite_database) as session, plans(session) as read:
        operation = Operation(id=7, operation_id="op-7", parent_id=None, tenant="a", type="b", idempotency_key=None)
        detail_of(session, operation, scopes=(Scope(None, None),), now=NOW)
    assert read == {"ix_operations_parent_id"}
