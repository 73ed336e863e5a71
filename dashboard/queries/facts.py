"""The list behind a number of events: one row for each, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from dashboard.domain.facts import Fact, Period
from dashboard.domain.permissions import Scope
from dashboard.models import Operation, OperationEvent, OperationFact
from dashboard.queries import keyset, totals
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.scoping import in_scope
from dashboard.queries.totals import Total

NEWEST_FIRST = Sort("at", OperationFact.at, OperationFact.id, descending=True, read=keyset.read_time)


@dataclass(frozen=True)
class Facts:
    """A page of events, and how many there are in all, up to 10,000."""

    page: Page
    total: Total


def rows(
    session: Session,
    *,
    fact: Fact,
    scopes: Sequence[Scope],
    label: str | None = None,
    period: Period | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    type: str | None = None,  # noqa: A002 - the word of the design
    tenant: str | None = None,
    after: str | None = None,
    before: str | None = None,
    limit: int = keyset.DEFAULT_LIMIT,
) -> Facts:
    """Events of one kind within the grants, by keyset; rows have at, operation_id, type, tenant, label, cause, reason.

    The `operation_id` is the public one, None for a key conflict. `period` counts whole days, `since` and `until` are
    instants, the last one excluded. Raises InvalidInputError for a broken cursor.
    """
    since, until = (period.since, period.until) if period else (since, until)
    wanted = _wanted(fact, label=label, since=since, until=until, type=type, tenant=tenant)
    wanted = wanted.where(in_scope(scopes, tenant=OperationFact.tenant, type=OperationFact.type))
    position = Position(after, before, limit)
    narrow = keyset.narrow(wanted, sort=NEWEST_FIRST, position=position).subquery("narrow")
    page = keyset.fetch(session, _wide(narrow, position), sort=NEWEST_FIRST, position=position)
    return Facts(page, totals.capped(session, wanted))


def _wanted(
    fact: Fact,
    *,
    label: str | None,
    since: datetime | None,
    until: datetime | None,
    type: str | None,  # noqa: A002 - the word of the design
    tenant: str | None,
) -> Select[*tuple[Any, ...]]:
    row = OperationFact
    statement = select(row.id.label("number"), row.at.label("key")).where(row.fact == fact.value)
    if since is not None:
        statement = statement.where(row.at >= since)
    if until is not None:
        statement = statement.where(row.at < until)
    for column, value in ((row.label, label), (row.type, type), (row.tenant, tenant)):
        if value is not None:
            statement = statement.where(column == value)
    return statement


def _wide(narrow: Any, position: Position) -> Select[*tuple[Any, ...]]:
    """The columns that a list shows; what happened to a key has no event to tell why."""
    row, event = OperationFact, OperationEvent
    of_operation = (event.id == row.source_id) & row.operation_id.is_not(None)
    return (
        select(
            narrow.c.number,
            narrow.c.key,
            row.fact,
            row.at,
            row.type,
            row.tenant,
            row.label,
            Operation.operation_id,
            event.cause,
            event.reason,
        )
        .join_from(narrow, row, row.id == narrow.c.number)
        .outerjoin(Operation, Operation.id == row.operation_id)
        .outerjoin(event, of_operation)
        .order_by(*keyset.wide_order(NEWEST_FIRST, position, key=narrow.c.key, number=narrow.c.number))
    )
