"""What a verification of the audit log found, kept for the screen and for alerts, however it was run.

It is no proof, only a note: who can alter the log can alter the note as well.
"""

from sqlalchemy import delete, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.permissions import Actor
from dashboard.models import AuditCheck
from dashboard.queries.audit_checks import Way
from dashboard.services.audit import Verification

# Of each way, and of the intact and the broken ones apart: the last that was intact stays however often it fails.
KEPT = 50


def keep(session: Session, found: Verification, *, way: Way, actor: Actor) -> None:
    """Note what was found, and drop the oldest of its kind beyond KEPT."""
    check = AuditCheck(
        way=way.value,
        at=clock(session),
        actor_kind=actor.kind.value,
        actor_id=actor.id[:254],
        checked=found.checked,
        head_hash=found.head_hash,
        broken_seq=found.broken_seq,
        problem=found.problem,
        detail=found.detail,
        runs=found.runs,
        anchors=found.anchors,
    )
    session.add(check)
    session.flush()
    same = AuditCheck.problem.is_(None) if found.intact else AuditCheck.problem.is_not(None)
    numbers = session.scalars(
        select(AuditCheck.id).where(AuditCheck.way == way.value, same).order_by(AuditCheck.id.desc())
    ).all()
    if numbers[KEPT:]:
        session.execute(delete(AuditCheck).where(AuditCheck.id.in_(numbers[KEPT:])))


def keep_if_possible(database: Database, found: Verification, *, way: Way, actor: Actor) -> bool:
    """Note what was found; False where the database takes nothing, as from an account that may only read."""
    try:
        transact(database, lambda session: keep(session, found, way=way, actor=actor))
    except DBAPIError:
        return False
    return True
