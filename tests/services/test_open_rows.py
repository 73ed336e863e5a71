"""Lists and counts of open work read the indexes over open rows, whatever narrows them and without any statistics.

SQLite is asked, which has none until somebody makes them; the others are told by theirs.
"""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from dashboard.db import Database, reading
from dashboard.domain.ages import Windows
from dashboard.domain.permissions import Actor, Grant, Role, Scope
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind, State
from dashboard.queries.due import Selection, due_since
from dashboard.queries.identity import landing
from dashboard.queries.keyset import Position, encode
from dashboard.queries.metrics import standing_at
from dashboard.queries.open_work import by_tenant, live
from dashboard.queries.operations import SORTS, OperationFilter, choices, count_operations, list_operations
from dashboard.queries.policies import open_by_type
from dashboard.queries.queue import queue_of
from dashboard.queries.waiting import waiting
from tests.factories import NOW
from tests.services.plans import plans

QUEUE = OperationFilter(exceptions=True)
NARROWED = [
    QUEUE,
    OperationFilter(overdue=True),
    OperationFilter(states=frozenset({State.MANUAL_REVIEW})),
    replace(QUEUE, types=frozenset({"charge_order"})),
    replace(QUEUE, tenants=frozenset({"tienda-es"}), types=frozenset({"charge_order"})),
    replace(QUEUE, destinations=frozenset({"payments", "crm"})),
    replace(QUEUE, verdicts=frozenset({"divergent", "none"})),
    replace(QUEUE, causes=frozenset({"sent_unknown"})),
    replace(QUEUE, currencies=frozenset({"EUR"})),
    replace(QUEUE, assigned_to="ana@example.com"),
    replace(QUEUE, assigned_to="nobody"),
    replace(QUEUE, min_age=timedelta(hours=1), max_age=timedelta(days=1)),
    replace(QUEUE, created_from=NOW, created_to=NOW),
]


class Row(NamedTuple):
    """What a cursor is made of."""

    key: Any
    number: int


EVERYTHING = (Scope(None, None),)
SOME = (Scope("tienda-es", None), Scope("loja-br", "charge_order"))


@pytest.mark.parametrize("scopes", [EVERYTHING, SOME], ids=["everything", "some"])
@pytest.mark.parametrize("filters", NARROWED, ids=range(len(NARROWED)))
def test_open_work_is_read_by_its_own_indexes(
    sqlite_database: Database, filters: OperationFilter, scopes: tuple[Scope, ...]
) -> None:
    with reading(sqlite_database) as session, plans(session) as read:
        for sort in SORTS.values():
            here = encode(sort, Row(Decimal(1) if sort.name == "amount" else NOW, 1))
            for position in (Position(), Position(after=here), Position(before=here)):
                list_operations(session, filters, scopes=scopes, sort=sort, position=position, now=NOW)
        count_operations(session, filters, scopes=scopes, now=NOW)
        queue_of(session, filters, scopes=scopes, now=NOW)
        choices(session, scopes=scopes)
    assert read
    assert {index for index in read if not index.startswith("ix_operations_open_")} == set()


@pytest.mark.parametrize("scopes", [EVERYTHING, SOME], ids=["everything", "some"])
def test_what_pages_count_of_open_work_is_read_by_them_too(
    sqlite_database: Database, scopes: tuple[Scope, ...]
) -> None:
    grants = tuple(Grant(Role.MANAGER, scope.tenant, scope.type) for scope in scopes)
    with reading(sqlite_database) as session, plans(session) as read:
        waiting(session, Actor(ActorKind.USER, "ana@example.com", grants), now=NOW)
        open_by_type(session, scopes=scopes)
        by_tenant(session, windows=Windows(), now=NOW)
        standing_at(session, now=NOW)
        due_since(session, Selection(now=NOW, policies=Policies(), only_type="charge_order"))
        live(session, scopes=scopes, windows=Windows(), now=NOW, tenant="tienda-es")
    # Rows of one open state are as few in the index of all states.
    others = {"ix_operations_state"}
    assert {index for index in read if not index.startswith("ix_operations_open_")} <= others


@pytest.mark.parametrize("scopes", [EVERYTHING, SOME], ids=["everything", "some"])
@pytest.mark.parametrize("filters", [OperationFilter(), *NARROWED], ids=range(len(NARROWED) + 1))
def test_a_search_is_read_by_the_indexes_of_identities(
    sqlite_database: Database, filters: OperationFilter, scopes: tuple[Scope, ...]
) -> None:
    searched = replace(filters, query="order-452")
    with reading(sqlite_database) as session, plans(session) as read:
        list_operations(session, searched, scopes=scopes, sort=SORTS["newest"], position=Position(), now=NOW)
        count_operations(session, searched, scopes=scopes, now=NOW)
        landing(session, "order-452", scopes=scopes)
    names = ("entity", "open_entity", "idempotency_key", "remote_id", "correlation_id")
    assert read <= {"sqlite_autoindex_operations_1", *(f"ix_operations_{name}" for name in names)}
