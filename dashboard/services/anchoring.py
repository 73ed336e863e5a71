"""Taking an anchor of the audit log: its head, signed after the whole log was verified, and noted in the log itself."""

from dataclasses import asdict, replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.adapters import anchor_keys
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.anchors import FORMAT, Anchor
from dashboard.domain.errors import OperationsError
from dashboard.domain.permissions import Actor
from dashboard.models import AuditEntry
from dashboard.queries.audit import ANCHOR
from dashboard.queries.audit_checks import Way
from dashboard.services import audit, audit_results
from dashboard.services.audit import Verification
from dashboard.services.audit_checks import Progress, verify_all


class AnchorRefusedError(OperationsError):
    """The log is empty or broken: an anchor of it would vouch for what nobody should rely on."""


def take_anchor(
    database: Database, *, actor: Actor, key: Ed25519PrivateKey, progress: Progress | None = None
) -> Anchor:
    """Verify the log, sign its head, note the anchor as an entry, and give it; AnchorRefusedError if it is broken."""
    with reading(database) as session:
        found = verify_all(session, progress=progress)
        unsigned = _head(session, found) if found.intact else None
    if unsigned is None:
        audit_results.keep_if_possible(database, found, way=Way.ANCHOR, actor=actor)
        raise AnchorRefusedError("anchor_of_broken_log", seq=found.broken_seq)
    anchor = replace(unsigned, public_key=anchor_keys.public_key(key))
    anchor = replace(anchor, signature=anchor_keys.sign(key, anchor.signed()))
    transact(database, lambda session: _note(session, anchor, found, actor=actor))
    return anchor


def _head(session: Session, found: Verification) -> Anchor:
    first = session.scalar(select(AuditEntry.hash).where(AuditEntry.seq == 1))
    if first is None or found.head_hash is None:
        raise AnchorRefusedError("anchor_of_empty_log")
    return Anchor(first, found.checked, found.head_hash, audit.hashed_time(clock(session)))


def _note(session: Session, anchor: Anchor, found: Verification, *, actor: Actor) -> None:
    evidence = {"format": FORMAT, **asdict(anchor)}
    audit.append(session, actor=actor, action=ANCHOR, subject=audit.LOG, now=clock(session), evidence=evidence)
    audit_results.keep(session, found, way=Way.ANCHOR, actor=actor)
