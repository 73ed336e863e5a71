"""The audit log as a person may read it: their own entries, those of their scope, or all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, or_, select, true
from sqlalchemy.orm import Session

from dashboard.domain.errors import NotFoundError
from dashboard.domain.permissions import Actor, Permission, Scope, holds, scopes
from dashboard.models import AuditEntry
from dashboard.queries import keyset, totals
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.scoping import in_scope

OUTCOMES = ("done", "refused")
VERIFY = "audit_verify"
ANCHOR = "audit_anchor"
EXPORT = "audit_export"
REVEAL = "reveal"
# Longer than what the list shows of it, so that a masked value at the cut is found.
SHOWN_REASON = 200
NEWEST = Sort("newest", AuditEntry.at, AuditEntry.seq, descending=True, read=keyset.read_time)

COLUMNS = (
    AuditEntry.at,
    AuditEntry.actor_kind,
    AuditEntry.actor_id,
    AuditEntry.address,
    AuditEntry.action,
    AuditEntry.subject,
    AuditEntry.tenant,
    AuditEntry.type,
    AuditEntry.outcome,
    func.substr(AuditEntry.reason, 1, SHOWN_REASON).label("reason"),
)


@dataclass(frozen=True)
class AuditFilter:
    """What the list of entries is narrowed to."""

    actor_id: str | None = None
    actions: frozenset[str] = frozenset()
    outcomes: frozenset[str] = frozenset()
    subject: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class _Cursor(NamedTuple):
    key: datetime
    number: int


class Neighbours(NamedTuple):
    """The numbers of the entries before and after one, among those the reader may see."""

    older: int | None
    newer: int | None


def list_entries(session: Session, filters: AuditFilter, *, reader: Actor, position: Position) -> Page:
    """One page of rows with COLUMNS and `number`, the sequence number; newest first."""
    return keyset.fetch(session, _page(filters, reader.bare, position.shape), sort=NEWEST, position=position)


def count_entries(session: Session, filters: AuditFilter, *, reader: Actor) -> totals.Total:
    """How many entries the list has, capped."""
    return totals.read(session, _count(filters, reader.bare), is_capped=True)


@lru_cache(maxsize=500)
def _page(filters: AuditFilter, reader: Actor, position: Position) -> Select[*tuple[Any, ...]]:
    chosen = select(AuditEntry.seq.label("number"), AuditEntry.at.label("key")).where(*_conditions(filters))
    parts = [keyset.narrow(chosen.where(part), sort=NEWEST, position=position) for part in _parts(reader)]
    ids = keyset.together(parts)
    return (
        select(ids.c.number, ids.c.key, *COLUMNS)
        .select_from(ids)
        .join(AuditEntry, AuditEntry.seq == ids.c.number)
        .order_by(*keyset.wide_order(NEWEST, position, key=ids.c.key, number=ids.c.number))
        .limit(position.limit + 1)
    )


@lru_cache(maxsize=500)
def _count(filters: AuditFilter, reader: Actor) -> Select[int]:
    chosen = select(AuditEntry.seq.label("number")).where(*_conditions(filters))
    parts = [chosen.where(part).limit(totals.CAP + 1) for part in _parts(reader)]
    return totals.up_to_cap(select(keyset.together(parts).c.number))


def get_entry(session: Session, seq: int, *, reader: Actor) -> AuditEntry:
    """One entry that the reader may see; NotFoundError otherwise."""
    entry = session.scalar(select(AuditEntry).where(AuditEntry.seq == seq, readable(reader)))
    if entry is None:
        raise NotFoundError(audit_entry=seq)
    return entry


def neighbours(session: Session, entry: AuditEntry, *, reader: Actor) -> Neighbours:
    """The readable entries around one, in the order of the list; None where there is none."""
    cursor = keyset.encode(NEWEST, _Cursor(entry.at, entry.seq))
    older, newer = Position(after=cursor, limit=1), Position(before=cursor, limit=1)
    found = (list_entries(session, AuditFilter(), reader=reader, position=each).rows for each in (older, newer))
    return Neighbours(*(rows[0].number if rows else None for rows in found))


def readable(reader: Actor) -> ColumnElement[bool]:
    """All entries, or the reader's own and those about operations of their scope (design section 9)."""
    if holds(reader.grants, Permission.AUDIT_ALL):
        return true()
    granted = scopes(reader.grants, Permission.AUDIT_SCOPE)
    if Scope(None, None) in granted:
        return true()
    own = AuditEntry.actor_id == reader.id
    return or_(own, in_scope(granted, tenant=AuditEntry.tenant, type=AuditEntry.type)) if granted else own


def reads(reader: Actor, *, actor_id: str, tenant: str | None, type: str | None) -> bool:  # noqa: A002
    """Tell of one entry what `readable` asks of all."""
    if holds(reader.grants, Permission.AUDIT_ALL) or actor_id == reader.id:
        return True
    granted = scopes(reader.grants, Permission.AUDIT_SCOPE)
    return any(_reaches(scope, tenant=tenant, type=type) for scope in granted)


def _reaches(scope: Scope, *, tenant: str | None, type: str | None) -> bool:  # noqa: A002
    return scope.tenant in (None, tenant) and scope.type in (None, type)


def _parts(reader: Actor) -> list[ColumnElement[bool]]:
    """`readable` in parts, each of which an index bounds: no engine does that for conditions joined by OR."""
    if holds(reader.grants, Permission.AUDIT_ALL):
        return [true()]
    granted = scopes(reader.grants, Permission.AUDIT_SCOPE)
    if Scope(None, None) in granted:
        return [true()]
    parts = [in_scope([scope], tenant=AuditEntry.tenant, type=AuditEntry.type) for scope in granted]
    return [AuditEntry.actor_id == reader.id, *parts]


def _conditions(filters: AuditFilter) -> Sequence[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if filters.actor_id:
        found.append(AuditEntry.actor_id == filters.actor_id)
    if filters.actions:
        found.append(AuditEntry.action.in_(sorted(filters.actions)))
    if filters.outcomes:
        found.append(AuditEntry.outcome.in_(sorted(filters.outcomes)))
    if filters.subject:
        found.append(AuditEntry.subject == filters.subject)
    if filters.since:
        found.append(AuditEntry.at >= filters.since)
    if filters.until:
        found.append(AuditEntry.at < filters.until)
    return found
