"""The audit log: append an entry to the chain, and verify the whole of it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import String, func, select, type_coerce, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dashboard.domain.chain import entry_hash
from dashboard.domain.permissions import Actor
from dashboard.domain.redaction import redact, redact_text
from dashboard.models import AuditEntry, AuditHead

DONE = "done"
REFUSED = "refused"
LOG = "audit_log"
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
# Times are read as they are stored, because two spellings of one moment are two different bytes.
STORED = (
    *(getattr(AuditEntry, name) for name in HASHED_COLUMNS if name != "at"),
    type_coerce(AuditEntry.at, String).label("at"),
    AuditEntry.previous_hash,
    AuditEntry.hash,
)


@dataclass(frozen=True)
class Verification:
    """What a walk over the whole log found: `broken_seq` is the first bad entry, `problem` says how it is bad.

    `detail` names the run or the anchor it is about; `runs` and `anchors` say how many agreed, `keys` who signed.
    """

    checked: int
    head_hash: str | None
    broken_seq: int | None = None
    problem: str | None = None
    detail: str | None = None
    runs: int = 0
    anchors: int = 0
    keys: Sequence[str] = ()

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
        actor_id=_fitted(actor.id, 254),
        address=actor.address and _fitted(actor.address, 64),
        action=action,
        subject=_fitted(subject, 254),
        tenant=tenant,
        type=type,
        outcome=outcome,
        before=_as_json(before),
        after=_as_json(after),
        reason=None if reason is None else redact_text(_storable(reason)),
        evidence=_as_json(evidence),
        request_id=actor.request_id and _fitted(actor.request_id, 64),
        previous_hash=head.hash,
    )
    entry.hash = _hash_of(entry)
    session.add(entry)
    session.flush()
    session.execute(update(AuditHead).where(AuditHead.id == 1).values(seq=entry.seq, hash=entry.hash))
    return entry.seq


class Suspicion(NamedTuple):
    """What is wrong beside the chain: the problem's code, and the run or anchor it is about."""

    problem: str
    detail: str


def verify(
    session: Session,
    *,
    progress: Callable[[int], None] | None = None,
    look: Callable[[Any], Suspicion | None] = lambda _entry: None,
) -> Verification:
    """Walk the whole log in order and stop at the first entry that does not follow from the one before it.

    Problems: `gap` (a number is missing), `changed` (the stored hash is not that of the stored fields),
    `unlinked` (it does not name the hash before it), `tail_cut` (the head knows of later entries) and
    `head_changed`. What is appended during the walk is left for the next one. `look` sees each entry that fits, and
    may know more about it than the chain does.
    """
    head = _head(session)
    last_hash: str | None = None
    checked = 0
    for entry in _walk(session, until=head.last or 0):
        problem = _problem_of(entry, expected_seq=checked + 1, previous_hash=last_hash)
        if problem:
            return Verification(checked, last_hash, broken_seq=checked + 1, problem=problem)
        suspicion = look(entry)
        if suspicion:
            return Verification(checked, last_hash, entry.seq, suspicion.problem, suspicion.detail)
        last_hash = entry.hash
        checked += 1
        if progress and checked % BATCH == 0:
            progress(checked)
    return _compare_with_head(head, checked=checked, last_hash=last_hash)


def _head(session: Session) -> Any:
    # One statement, so that no append can come between the head and the last entry.
    head = select(AuditHead).where(AuditHead.id == 1).subquery()
    last = select(func.max(AuditEntry.seq)).scalar_subquery()
    heads = select(func.count()).select_from(head).scalar_subquery()
    seq, digest = select(head.c.seq).scalar_subquery(), select(head.c.hash).scalar_subquery()
    return session.execute(
        select(last.label("last"), heads.label("heads"), seq.label("seq"), digest.label("hash"))
    ).one()


def _walk(session: Session, *, until: int) -> Iterator[Any]:
    after: int | None = None
    while batch := _read(session, after=after, until=until, limit=BATCH):
        yield from batch
        after = batch[-1].seq


def _read(session: Session, *, after: int | None, until: int, limit: int) -> list[Any]:
    """Give the next entries; an unreadable one, such as text that is no longer UTF-8, comes alone and without hash."""
    narrowed = select(*STORED).where(AuditEntry.seq <= until).order_by(AuditEntry.seq).limit(limit)
    try:
        return list(session.execute(narrowed if after is None else narrowed.where(AuditEntry.seq > after)))
    except (DBAPIError, ValueError):
        if limit > 1:
            return _read(session, after=after, until=until, limit=1)
        # Where it is the database that fails and not the entry, this fails again.
        numbers = select(AuditEntry.seq, AuditEntry.seq.label("hash")).order_by(AuditEntry.seq).limit(1)
        return list(session.execute(numbers if after is None else numbers.where(AuditEntry.seq > after)))


def _problem_of(entry: Any, *, expected_seq: int, previous_hash: str | None) -> str | None:
    if entry.seq != expected_seq:
        return "gap"
    if not isinstance(entry.hash, str) or entry.hash != _hash_of(entry):
        return "changed"
    if entry.previous_hash != previous_hash:
        return "unlinked"
    return None


def _compare_with_head(head: Any, *, checked: int, last_hash: str | None) -> Verification:
    seq = head.seq or 0
    if isinstance(seq, int) and seq > checked:
        return Verification(checked, last_hash, broken_seq=checked + 1, problem="tail_cut")
    if not head.heads or seq != checked or head.hash != last_hash:
        return Verification(checked, last_hash, broken_seq=checked, problem="head_changed")
    return Verification(checked, last_hash)


def _hash_of(entry: Any) -> str:
    fields = [(name, _hashed(getattr(entry, name))) for name in HASHED_COLUMNS if name != "at"]
    fields.insert(HASHED_COLUMNS.index("at"), ("at", hashed_time(entry.at)))
    return entry_hash(_hashed_text(entry.previous_hash), fields)


def _hashed(value: object) -> str | int | None:
    return value if isinstance(value, int) else _hashed_text(value)


def _hashed_text(value: object) -> str | None:
    return value if value is None else str(value)


def hashed_time(at: object) -> str:
    """The moment in UTC with microseconds; text is how SQLite stores it, in exactly one spelling."""
    if isinstance(at, datetime):
        aware = at if at.tzinfo else at.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="microseconds")
    text = str(at)
    return f"{text[:10]}T{text[11:]}+00:00" if text[10:11] == " " else text


def _as_json(value: Mapping[str, object] | None) -> str | None:
    if value is None:
        return None
    text = json.dumps(redact(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return _storable(text)


def _storable(text: str) -> str:
    """A refused attempt may hold what no column takes (NUL, lone surrogates): kept in a readable form."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


def _fitted(text: str, length: int) -> str:
    return _storable(text)[:length]
