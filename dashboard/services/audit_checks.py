"""What a verification of the audit log knows beside its chain: digests of runs, and anchors kept in it or elsewhere.

    verify_all(session, anchors=read_anchors(...)) -> Verification

Problems beside those of the chain:
- `run_changed`: the findings of a run are not those its entry recorded
- `anchor_forged`: a signature does not fit
- `anchor_untrusted`: it is signed by a key that is not among the trusted ones
- `anchor_foreign`: it is of another database, or the first entry was rewritten
- `anchor_differs`: the entry it names is another one
- `anchor_cut`: the log ends before the entry it names
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError, NoResultFound
from sqlalchemy.orm import Session

from dashboard.adapters.anchor_keys import verifies
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.anchors import Anchor, AnchorInvalidError, read_anchors
from dashboard.domain.errors import NotAllowedError
from dashboard.domain.permissions import Actor, Permission, holds
from dashboard.models import AuditEntry
from dashboard.queries.audit import ANCHOR, VERIFY
from dashboard.queries.audit_checks import Way
from dashboard.services import audit, audit_results, runs
from dashboard.services.audit import LOG, Suspicion, Verification

Progress = Callable[[int], None]
_RUN = re.compile(r"reconciliation run ([0-9]{1,18})", re.ASCII)


@dataclass
class _Watch:
    """What the walk has met so far; `open` are the given anchors whose entry has not come yet."""

    session: Session
    trusted: Collection[str]
    open: dict[int, list[Anchor]]
    runs: int = 0
    anchors: int = 0
    keys: set[str] = field(default_factory=set)

    def look(self, entry: Any) -> Suspicion | None:
        """Compare an entry with the anchors that name it, and with what it recorded."""
        for anchor in self.open.pop(entry.seq, ()):
            if anchor.hash != entry.hash:
                return Suspicion("anchor_differs", anchor.name)
            self._agreed(anchor)
        if entry.action in {runs.ENDED, runs.CHECK}:
            return self._look_at_run(entry)
        return self._look_at_kept(entry) if entry.action == ANCHOR else None

    def _look_at_run(self, entry: Any) -> Suspicion | None:
        evidence = _evidence(entry.evidence)
        named = _RUN.fullmatch(entry.subject)
        number = int(named[1]) if named else evidence.get("run_id")
        if not isinstance(number, int):
            return None
        if not runs.is_digest(self.session, number, evidence.get("digest")):
            return Suspicion("run_changed", str(number))
        self.runs += 1
        return None

    def _look_at_kept(self, entry: Any) -> Suspicion | None:
        """An anchor that the log itself keeps: who rewrites the log cannot sign it anew."""
        try:
            [anchor] = read_anchors(entry.evidence or "")
        except (AnchorInvalidError, ValueError):
            return Suspicion("anchor_forged", str(entry.seq))
        bad = _signed_wrong(anchor, self.trusted)
        if bad:
            return bad
        named = select(AuditEntry.hash).where(AuditEntry.seq == anchor.seq, AuditEntry.seq < entry.seq)
        if self.session.scalar(named) != anchor.hash:
            return Suspicion("anchor_differs", anchor.name)
        self._agreed(anchor)
        return None

    def _agreed(self, anchor: Anchor) -> None:
        self.anchors += 1
        self.keys.add(anchor.public_key)


def verify_all(
    session: Session,
    *,
    anchors: Sequence[Anchor] = (),
    trusted: Collection[str] = (),
    progress: Progress | None = None,
) -> Verification:
    """Walk the whole log, with the digests of its runs and with anchors; stop at the first thing that is wrong.

    Where `trusted` names public keys, anchors of other keys are a finding.
    """
    first = session.scalar(select(AuditEntry.hash).where(AuditEntry.seq == 1))
    wrong = _wrong_before(anchors, trusted, first=first)
    if wrong:
        return Verification(0, None, 1, wrong.problem, wrong.detail)
    waiting: dict[int, list[Anchor]] = defaultdict(list)
    for anchor in anchors:
        waiting[anchor.seq].append(anchor)
    watch = _Watch(session, trusted, waiting)
    found = audit.verify(session, progress=progress, look=watch.look)
    found = replace(found, runs=watch.runs, anchors=watch.anchors, keys=tuple(sorted(watch.keys)))
    missing = min(watch.open, default=0)
    if found.intact and missing > found.checked:
        detail = watch.open[missing][0].name
        return replace(found, broken_seq=found.checked + 1, problem="anchor_cut", detail=detail)
    return found


def verify_on_record(
    database: Database, *, actor: Actor, trusted: Collection[str] = ()
) -> tuple[Verification, int | None]:
    """Verify the log for a person, keep what was found and append it; NotAllowedError without the permission.

    The second value is the new entry's number, or None where the log is so damaged that nothing can be appended.
    """
    if not holds(actor.grants, Permission.AUDIT_SCOPE):
        raise NotAllowedError(permission=Permission.AUDIT_SCOPE.value)
    with reading(database) as session:
        found = verify_all(session, trusted=trusted)
    try:
        return found, transact(database, lambda session: _record(session, found, actor=actor))
    except (NoResultFound, IntegrityError):
        if found.intact:
            raise
        audit_results.keep_if_possible(database, found, way=Way.SCREEN, actor=actor)
        return found, None


def _record(session: Session, found: Verification, *, actor: Actor) -> int:
    audit_results.keep(session, found, way=Way.SCREEN, actor=actor)
    evidence = asdict(found)
    return audit.append(session, actor=actor, action=VERIFY, subject=LOG, now=clock(session), evidence=evidence)


def _wrong_before(anchors: Sequence[Anchor], trusted: Collection[str], *, first: str | None) -> Suspicion | None:
    for anchor in anchors:
        bad = _signed_wrong(anchor, trusted)
        if bad:
            return bad
        if first is not None and anchor.database != first:
            return Suspicion("anchor_foreign", anchor.name)
    return None


def _signed_wrong(anchor: Anchor, trusted: Collection[str]) -> Suspicion | None:
    if not verifies(public=anchor.public_key, signature=anchor.signature, content=anchor.signed()):
        return Suspicion("anchor_forged", anchor.name)
    if trusted and anchor.public_key not in trusted:
        return Suspicion("anchor_untrusted", anchor.name)
    return None


def _evidence(text: str | None) -> dict[str, Any]:
    found = json.loads(text or "{}")
    return found if isinstance(found, dict) else {}
