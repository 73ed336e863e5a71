"""Runs of the reconciler: begun with the first look, counted as they go, ended with one audit entry."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.chain import entry_hash
from dashboard.domain.permissions import Actor
from dashboard.domain.purging import evidence_digest
from dashboard.domain.responses import Reason
from dashboard.models import ReconciliationFinding, ReconciliationRun
from dashboard.services import audit

RUNNING, FINISHED, STOPPED = "running", "finished", "stopped"
CHECK = "check"
ENDED = "reconciliation_run"
# A run that has found nothing for so long has no process any more: no probe takes that long.
STALE = timedelta(minutes=30)
BATCH = 1000
VERDICTS = ("correct", "absent", "divergent", "ambiguous", "not_applicable")
COUNTS = ("examined", *VERDICTS, "acted", "skipped")
MAX_ORIGIN = 16
HASHED = (
    "operation_id",
    "at",
    "state",
    "attempts",
    "verdict",
    "response",
    "target",
    "applied",
    "reason",
    "evidence",
)


@dataclass(frozen=True)
class Beginning:
    """What a run is begun with; `origin` says from where (`worker`, `command`, `check`)."""

    actor: Actor
    origin: str
    policy_hash: str | None
    observe: bool = False
    only_type: str | None = None


def begin(session: Session, beginning: Beginning) -> int:
    """Open a run and give its number."""
    run = ReconciliationRun(
        state=RUNNING,
        origin=beginning.origin[:MAX_ORIGIN],
        started_by=beginning.actor.id,
        observe=beginning.observe,
        only_type=beginning.only_type,
        policy_hash=beginning.policy_hash,
        started_at=clock(session),
    )
    session.add(run)
    session.flush()
    return run.id


def count(session: Session, finding: ReconciliationFinding) -> None:
    """Add one finding to the counts of its run, in the finding's own transaction."""
    run = ReconciliationRun
    skipped = finding.reason == Reason.CHANGED_MEANWHILE
    raised: dict[str, Any] = {"examined": run.examined + 1}
    if skipped:
        raised["skipped"] = run.skipped + 1
    else:
        raised[finding.verdict] = getattr(run, finding.verdict) + 1
    if finding.applied and finding.target:
        raised["acted"] = run.acted + 1
    session.execute(
        update(run).where(run.id == finding.run_id).values(raised).execution_options(synchronize_session=False)
    )


def end(session: Session, *, number: int, actor: Actor, state: str = FINISHED) -> bool:
    """Close a run and write its audit entry; False where somebody else has closed it."""
    row = close(session, number, state=state)
    if row is None:
        return False
    audit.append(
        session,
        actor=actor,
        action=ENDED,
        subject=f"reconciliation run {number}",
        now=row.finished_at or row.started_at,
        type=row.only_type,
        after={"state": state, "observe": row.observe, **{name: getattr(row, name) for name in COUNTS}},
        evidence={"digest": row.digest, "policy_hash": row.policy_hash, "origin": row.origin},
    )
    return True


def close(session: Session, number: int, *, state: str = FINISHED) -> ReconciliationRun | None:
    """Close a run and give it as it ended; None where somebody else has closed it."""
    run = ReconciliationRun
    closed = session.connection().execute(
        update(run)
        .where(run.id == number, run.state == RUNNING)
        .values(state=state, finished_at=clock(session), digest=digest_of(session, number))
    )
    return session.get_one(run, number, populate_existing=True) if closed.rowcount == 1 else None


def stale(session: Session) -> Sequence[int]:
    """The runs whose process is gone; what they had not looked at is due for the next pass anyway."""
    old = clock(session) - STALE
    run, finding = ReconciliationRun, ReconciliationFinding
    last = select(func.max(finding.at)).where(finding.run_id == run.id).scalar_subquery()
    silent = func.coalesce(last, run.started_at) < old
    return session.scalars(select(run.id).where(run.state == RUNNING, run.started_at < old, silent)).all()


def digest_of(session: Session, number: int) -> str | None:
    """A hash over all findings of a run in order, None where there are none; any later change of one shows.

    Evidence counts by its own hash, which stays when retention takes the evidence away.
    """
    return _digests(session, number)[0]


def is_digest(session: Session, number: int, recorded: str | None) -> bool:
    """Tell whether the findings of a run are still those whose digest was recorded, in either form of digests."""
    return recorded in _digests(session, number)


def _digests(session: Session, number: int) -> tuple[str | None, str | None]:
    digest: str | None = None
    first_form: str | None = None
    for finding in _findings(session, number):
        fields = {name: _hashed(getattr(finding, name)) for name in HASHED}
        first_form = entry_hash(first_form, list(fields.items()))
        digest = entry_hash(digest, list((fields | {"evidence": evidence_digest(finding.evidence)}).items()))
    return digest, first_form


def _findings(session: Session, number: int) -> Iterator[ReconciliationFinding]:
    last = 0
    while True:
        batch = session.scalars(
            select(ReconciliationFinding)
            .where(ReconciliationFinding.run_id == number, ReconciliationFinding.id > last)
            .order_by(ReconciliationFinding.id)
            .limit(BATCH)
        ).all()
        if not batch:
            return
        last = batch[-1].id
        yield from batch
        session.expunge_all()


def _hashed(value: object) -> str | int | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return value if value is None or isinstance(value, int) else str(value)
