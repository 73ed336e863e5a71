"""The audit log as a person may read it: their own entries, those of their scope, or all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
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
SHOWN_REASON = 200
NEWEST = Sort("newest", AuditEntry.seq, AuditEntry.seq, descending=True, read=int)

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


class Neighbours(NamedTuple):
    """The numbers of the entries before and after one, among those the reader may see."""

    older: int | None
    newer: int | None


def list_entries(session: Session, filters: AuditFilter, *, reader: Actor, position: Position) -> Page:
    """One page of rows with COLUMNS and `number`, the sequence number; newest first."""
    chosen = select(AuditEntry.seq.label("number"), AuditEntry.seq.label("key"), *COLUMNS).where(
        *_conditions(filters, reader=reader)
    )
    return keyset.fetch(session, keyset.narrow(chosen, sort=NEWEST, position=position), sort=NEWEST, position=position)


def count_entries(session: Session, filters: AuditFilter, *, reader: Actor) -> totals.Total:
    """How many entries the list has, capped."""
    statement: Select[*tuple[Any, ...]] = select(AuditEntry.seq).where(*_conditions(filters, reader=reader))
    return totals.capped(session, statement)


def get_entry(session: Session, seq: int, *, reader: Actor) -> AuditEntry:
    """One entry that the reader may see; NotFoundError otherwise."""
    entry = session.scalar(select(AuditEntry).where(AuditEntry.seq == seq, readable(reader)))
    if entry is None:
        raise NotFoundError(audit_entry=seq)
    return entry


def neighbours(session: Session, seq: int, *, reader: Actor) -> Neighbours:
    """The readable entries around one; None where there is none."""
    seqs = select(AuditEntry.seq).where(readable(reader)).limit(1)
    return Neighbours(
        older=session.scalar(seqs.where(AuditEntry.seq < seq).order_by(AuditEntry.seq.desc())),
        newer=session.scalar(seqs.where(AuditEntry.seq > seq).order_by(AuditEntry.seq)),
    )


def last_verification(session: Session, *, reader: Actor) -> AuditEntry | None:
    """The newest entry about a verification of the log that the reader may see."""
    found = select(AuditEntry).where(AuditEntry.action == VERIFY, readable(reader))
    return session.scalar(found.order_by(AuditEntry.seq.desc()).limit(1))


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


def _conditions(filters: AuditFilter, *, reader: Actor) -> Sequence[ColumnElement[bool]]:
    found = [readable(reader)]
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
