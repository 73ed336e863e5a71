"""The audit log: append an entry to the chain, and verify the whole of it."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from dashboard.domain.chain import entry_hash
from dashboard.domain.permissions import Actor
from dashboard.domain.redaction import redact, redact_text
from dashboard.models import AuditEntry, AuditHead

DONE = "done"
REFUSED = "refused"
BATCH = 1000
HASHED_COLUMNS = (
    "seq",
    "at",
    "actor_kind",
    "actor_id",
    "address",
    "action",
    "subject",
    "tenant",
    "type",
    "outcome",
    "before",
    "after",
    "reason",
    "evidence",
    "request_id",
)


@dataclass(frozen=True)
class Verification:
    """What a walk over the whole log found: `broken_seq` is the first bad entry, `problem` says how it is bad."""

    checked: int
    head_hash: str | None
    broken_seq: int | None = None
    problem: str | None = None

    @property
    def intact(self) -> bool:
        """Whether nothing was found."""
        return self.problem is None


def append(
    session: Session,
    *,
    actor: Actor,
    action: str,
    subject: str,
    now: datetime,
    outcome: str = DONE,
    tenant: str | None = None,
    type: str | None = None,  # noqa: A002 - the column's name
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
    reason: str | None = None,
    evidence: Mapping[str, object] | None = None,
) -> int:
    """Append one entry and return its sequence number.

    The head row is locked until the caller's transaction ends, so entries never fork and leave no gap.
    Secrets are redacted before anything is hashed or stored.
    """
    head = session.execute(select(AuditHead.seq, AuditHead.hash).where(AuditHead.id == 1).with_for_update()).one()
    entry = AuditEntry(
        seq=(head.seq or 0) + 1,
        at=now,
        actor_kind=actor.kind.value,
        actor_id=actor.id[:254],
        address=actor.address,
        action=action,
        subject=_storable(subject)[:254],
        tenant=tenant,
        type=type,
        outcome=outcome,
        before=_as_json(before),
        after=_as_json(after),
        reason=None if reason is None else redact_text(_storable(reason)),
        evidence=_as_json(evidence),
        request_id=actor.request_id,
        previous_hash=head.hash,
    )
    entry.hash = _hash_of(entry)
    session.add(entry)
    session.flush()
    session.execute(update(AuditHead).where(AuditHead.id == 1).values(seq=entry.seq, hash=entry.hash))
    return entry.seq


def verify(session: Session, *, progress: Callable[[int], None] | None = None) -> Verification:
    """Walk the whole log in order and stop at the first entry that does not follow from the one before it.

    Problems: `gap` (a number is missing), `changed` (the stored hash is not that of the stored fields),
    `unlinked` (it does not name the hash before it), `tail_cut` (the head knows of later entries) and
    `head_changed`.
    """
    last_hash: str | None = None
    checked = 0
    for entry in _walk(session):
        problem = _problem_of(entry, expected_seq=checked + 1, previous_hash=last_hash)
        if problem:
            return Verification(checked, last_hash, broken_seq=checked + 1, problem=problem)
        last_hash = entry.hash
        checked += 1
        if progress and checked % BATCH == 0:
            progress(checked)
    return _compare_with_head(session, checked=checked, last_hash=last_hash)


def _walk(session: Session) -> Iterator[AuditEntry]:
    last = 0
    while True:
        batch = session.scalars(
            select(AuditEntry).where(AuditEntry.seq > last).order_by(AuditEntry.seq).limit(BATCH)
        ).all()
        if not batch:
            return
        yield from batch
        last = batch[-1].seq
        session.expunge_all()


def _problem_of(entry: AuditEntry, *, expected_seq: int, previous_hash: str | None) -> str | None:
    if entry.seq != expected_seq:
        return "gap"
    if entry.hash != _hash_of(entry):
        return "changed"
    if entry.previous_hash != previous_hash:
        return "unlinked"
    return None


def _compare_with_head(session: Session, *, checked: int, last_hash: str | None) -> Verification:
    head = session.execute(select(AuditHead.seq, AuditHead.hash).where(AuditHead.id == 1)).one_or_none()
    if head is None or (head.seq or 0) < checked:
        return Verification(checked, last_hash, broken_seq=checked, problem="head_changed")
    if (head.seq or 0) > checked:
        return Verification(checked, last_hash, broken_seq=checked + 1, problem="tail_cut")
    if head.hash != last_hash:
        return Verification(checked, last_hash, broken_seq=checked, problem="head_changed")
    return Verification(checked, last_hash)


def _hash_of(entry: AuditEntry) -> str:
    fields = [(name, _hashed(getattr(entry, name))) for name in HASHED_COLUMNS]
    return entry_hash(entry.previous_hash, fields)


def _hashed(value: object) -> str | int | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return value if value is None or isinstance(value, int) else str(value)


def _as_json(value: Mapping[str, object] | None) -> str | None:
    if value is None:
        return None
    text = json.dumps(redact(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return _storable(text)


def _storable(text: str) -> str:
    """A refused attempt may hold what no column takes (NUL, lone surrogates): kept in a readable form."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
