"""Handing the audit log to somebody: as lines that can be verified without the product, or as rows of a spreadsheet.

A verifiable export holds every entry between its first and its last. Of an entry that the reader may not read, or that
holds what policy masks, only its place is exported: number, hash before it and hash. So the chain can be followed.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.errors import NotAllowedError, OperationsError
from dashboard.domain.masking import Hiding, mask
from dashboard.domain.permissions import Actor, Permission, holds
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry
from dashboard.queries.audit import EXPORT, reads
from dashboard.queries.audit_masks import hiding_for, hidings
from dashboard.services import audit
from dashboard.services.policies import Policies

FORMAT = "operations-dashboard/audit-export/v1"
LINES, TABLE = "jsonl", "csv"
PLACE = ("seq", "previous_hash", "hash")
COLUMNS = (*audit.HASHED_COLUMNS, "previous_hash", "hash")
MOST = 500_000
WITHIN, MOST_IN_TIME = timedelta(hours=1), 30
Line = dict[str, object]


class ExportRefusedError(OperationsError):
    """Too much at once (`export_too_large`) or too often (`export_too_often`)."""


@dataclass(frozen=True)
class Export:
    """What is exported for whom: entries `first` to `last`, None where there is none."""

    reader: Actor
    form: str
    since: datetime | None
    until: datetime | None
    at: datetime
    database: str | None
    first: int | None
    last: int | None


def begin(
    database: Database, *, reader: Actor, form: str, since: datetime | None = None, until: datetime | None = None
) -> Export:
    """Fix what an export holds and append the entry that tells of it; NotAllowedError and ExportRefusedError."""
    return transact(database, lambda session: _begin(session, reader=reader, form=form, since=since, until=until))


def lines(session: Session, export: Export, *, policies: Policies) -> Iterator[Line]:
    """Give the header, each entry or its place, and the end; read in batches, whatever their number."""
    yield {
        "format": FORMAT,
        "database": export.database,
        "exported_at": audit.hashed_time(export.at),
        "exported_by": export.reader.id,
        "since": export.since and audit.hashed_time(export.since),
        "until": export.until and audit.hashed_time(export.until),
        "first": export.first,
        "last": export.last,
    }
    shown = withheld = 0
    for entry, why in _entries(session, export, policies):
        names = PLACE if why else COLUMNS
        line: Line = {name: _plain(entry, name) for name in names}
        withheld, shown = (withheld + 1, shown) if why else (withheld, shown + 1)
        yield line | {"withheld": why} if why else line
    yield {"end": {"shown": shown, "withheld": withheld, "last": export.last}}


def rows(session: Session, export: Export, *, policies: Policies) -> Iterator[list[str]]:
    """Give the header and each entry the reader may read, as cells that no spreadsheet takes for a formula."""
    yield list(COLUMNS)
    for entry, why in _entries(session, export, policies):
        if not why:
            yield [guarded(_plain(entry, name)) for name in COLUMNS]


def guarded(value: object) -> str:
    """A cell of CSV: what a spreadsheet would take for a formula begins with an apostrophe (OWASP, CSV injection)."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text


def _begin(session: Session, *, reader: Actor, form: str, since: datetime | None, until: datetime | None) -> Export:
    if reader.kind is not ActorKind.SYSTEM and not holds(reader.grants, Permission.EXPORT):
        raise NotAllowedError(permission=Permission.EXPORT.value)
    now = clock(session)
    first, last = _range(session, since=since, until=until)
    if reader.kind is not ActorKind.SYSTEM:
        _refuse_too_much(session, reader, now=now, count=(last or 0) - (first or 0))
    start = session.scalar(select(AuditEntry.hash).where(AuditEntry.seq == 1))
    export = Export(reader, form, since, until, now, start, first, last)
    evidence = {"format": form, "since": since, "until": until, "first": first, "last": last}
    audit.append(session, actor=reader, action=EXPORT, subject=audit.LOG, now=now, evidence=_told(evidence))
    return export


def _told(evidence: Mapping[str, object]) -> dict[str, object]:
    return {name: audit.hashed_time(each) if isinstance(each, datetime) else each for name, each in evidence.items()}


def _range(session: Session, *, since: datetime | None, until: datetime | None) -> tuple[int | None, int | None]:
    """The first and last number of the time; all that lie between them belong to the export."""
    found = select(func.min(AuditEntry.seq), func.max(AuditEntry.seq))
    if since is not None:
        found = found.where(AuditEntry.at >= since.astimezone(UTC))
    if until is not None:
        found = found.where(AuditEntry.at < until.astimezone(UTC))
    first, last = session.execute(found).one()
    return first, last


def _refuse_too_much(session: Session, reader: Actor, *, now: datetime, count: int) -> None:
    if count >= MOST:
        raise ExportRefusedError("export_too_large", maximum=MOST)
    made = select(func.count()).where(
        AuditEntry.actor_id == reader.id, AuditEntry.action == EXPORT, AuditEntry.at > now - WITHIN
    )
    if (session.scalar(made) or 0) >= MOST_IN_TIME:
        raise ExportRefusedError("export_too_often", maximum=MOST_IN_TIME)


def _entries(session: Session, export: Export, policies: Policies) -> Iterator[tuple[Any, str | None]]:
    """The entries, each with why it is withheld, or None."""
    if export.first is None or export.last is None:
        return
    after = export.first - 1
    while after < export.last:
        batch = session.execute(
            select(*audit.STORED)
            .where(AuditEntry.seq > after, AuditEntry.seq <= export.last)
            .order_by(AuditEntry.seq)
            .limit(audit.BATCH)
        ).all()
        if not batch:
            return
        hidden = hidings(session, batch, policies=policies)
        for entry in batch:
            yield entry, _why_withheld(entry, export.reader, hiding_for(entry, hidden, policies=policies))
        after = batch[-1].seq


def _why_withheld(entry: Any, reader: Actor, hiding: Hiding) -> str | None:
    if reader.kind is not ActorKind.SYSTEM and not reads(
        reader, actor_id=entry.actor_id, tenant=entry.tenant, type=entry.type
    ):
        return "scope"
    if not hiding.mask:
        return None
    if mask(entry.reason, paths=hiding.mask, values=hiding.values) != entry.reason:
        return "masked"
    held = any(_holds_masked(text, hiding) for text in (entry.before, entry.after, entry.evidence))
    return "masked" if held else None


def _holds_masked(text: str | None, hiding: Hiding) -> bool:
    try:
        value = json.loads(text or "null")
    except (ValueError, RecursionError):
        return True
    return bool(mask(value, paths=hiding.mask, values=hiding.values) != value)


def _plain(entry: Any, name: str) -> object:
    """The value as it was hashed: a time in one spelling, all else text, whole number or nothing."""
    value = getattr(entry, name)
    if name == "at":
        return audit.hashed_time(value)
    return value if value is None or isinstance(value, int) else str(value)
