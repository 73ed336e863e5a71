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
from dashboard.services import audit
from dashboard.services.audit_checks import Progress, verify_all


class AnchorRefusedError(OperationsError):
    """The log is empty or broken: an anchor of it would vouch for what nobody should rely on."""


def take_anchor(
    database: Database, *, actor: Actor, key: Ed25519PrivateKey, progress: Progress | None = None
) -> Anchor:
    """Verify the log, sign its head, note the anchor as an entry, and give it; AnchorRefusedError if it is broken."""
    with reading(database) as session:
        unsigned = _head(session, progress=progress)
    anchor = replace(unsigned, public_key=anchor_keys.public_key(key))
    anchor = replace(anchor, signature=anchor_keys.sign(key, anchor.signed()))
    transact(database, lambda session: _note(session, anchor, actor=actor))
    return anchor


def _head(session: Session, *, progress: Progress | None) -> Anchor:
    found = verify_all(session, progress=progress)
    if not found.intact:
        raise AnchorRefusedError("anchor_of_broken_log", seq=found.broken_seq)
    first = session.scalar(select(AuditEntry.hash).where(AuditEntry.seq == 1))
    if first is None or found.head_hash is None:
        raise AnchorRefusedError("anchor_of_empty_log")
    return Anchor(first, found.checked, found.head_hash, audit.hashed_time(clock(session)))


def _note(session: Session, anchor: Anchor, *, actor: Actor) -> int:
    evidence = {"format": FORMAT, **asdict(anchor)}
    return audit.append(session, actor=actor, action=ANCHOR, subject=audit.LOG, now=clock(session), evidence=evidence)
