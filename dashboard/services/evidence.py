"""Taking in the result file of a destination: keep every line, match it, and judge the operations it is about.

The file is streamed in batches. Taking a file in twice changes nothing; a run that breaks off is taken up by the next,
or by a worker. A line that fits no operation, or more than one, is kept and told, and nobody guesses.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from sqlalchemy.orm import Session

from dashboard.adapters.evidence_files import Row, read_rows
from dashboard.db import Database, clock, transact
from dashboard.domain.errors import InvalidInputError, NotFoundError, Problem
from dashboard.domain.evidence_sources import EvidenceFile
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.received import Match, Source
from dashboard.services import audit
from dashboard.services.evidence_lines import EvidenceLine, read_row
from dashboard.services.evidence_looks import EvidenceRun
from dashboard.services.evidence_store import Arrival, Kept, Occurrences, keep
from dashboard.services.import_rows import Rejected

BATCH_LINES = 500
KIND = "evidence"
MOST_ORIGIN = 254

Progress = Callable[[int, int], None]
Reject = Callable[[Rejected], None]


@dataclass
class EvidenceSummary:
    """What became of a file: its lines, by `match` those that are kept, and by verdict what the looks found.

    `held` operations were in somebody's hands; a worker looks at them later.
    """

    read: int = 0
    new: int = 0
    rejected: int = 0
    matches: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    held: int = 0
    finished: bool = False


@dataclass(frozen=True)
class _Import:
    arrival: Arrival
    occurrences: Occurrences
    run: EvidenceRun
    summary: EvidenceSummary
    reject: Reject


def import_evidence(
    database: Database,
    *,
    source: BinaryIO,
    name: str,
    destination: str,
    policies: Policies,
    actor: Actor,
    reject: Reject,
    progress: Progress | None = None,
) -> EvidenceSummary:
    """Take a file in and leave one audit entry, also where it is interrupted.

    Lines that cannot be read, fit no operation or several are handed to `reject`. Raises NotFoundError for a
    destination without result files, and InvalidInputError where a mapped column is missing.
    """
    layout = _layout(policies, destination)
    summary = EvidenceSummary()
    arrival = Arrival(destination, Source.FILE, name[:MOST_ORIGIN])
    run = EvidenceRun(database, actor, policies)
    importing = _Import(arrival, Occurrences(destination), run, summary, reject)
    try:
        for batch in _batches(read_rows(source, layout)):
            _take(importing, batch, layout)
            if progress:
                progress(summary.read, source.tell())
        summary.finished = True
    finally:
        transact(database, lambda session: _audit(session, importing))
    return summary


def _layout(policies: Policies, destination: str) -> EvidenceFile:
    known = policies.destinations.get(destination)
    if known is None or known.evidence is None:
        having = tuple(name for name, each in policies.destinations.items() if each.evidence)
        raise NotFoundError("evidence_unconfigured", destination=destination, allowed=having)
    return known.evidence


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH_LINES:
            yield batch
            batch = []
    if batch:
        yield batch


def _take(importing: _Import, batch: Sequence[Row], layout: EvidenceFile) -> None:
    rejected: list[Rejected] = []
    lines: list[tuple[str, EvidenceLine]] = []
    for row in batch:
        importing.summary.read += 1
        try:
            line = read_row(row, layout.columns)
            lines.append((importing.occurrences.event_id(line), line))
        except InvalidInputError as error:
            rejected.append(Rejected(row.number, KIND, error.problems, row.text))
    kept = transact(importing.run.database, lambda session: keep(session, importing.arrival, lines, now=clock(session)))
    rejected += _doubtful(kept)
    _look(importing, kept)
    _count(importing.summary, kept, rejected)
    for each in sorted(rejected, key=lambda each: each.number):
        importing.reject(each)


def _doubtful(kept: Sequence[Kept]) -> list[Rejected]:
    """The lines a person has to see: of no operation, of several, or saying something else than before."""
    found = []
    for each in kept:
        problem = _doubt(each)
        if problem:
            found.append(Rejected(each.line.number or 0, KIND, (problem,), each.line.text))
    return found


def _doubt(kept: Kept) -> Problem | None:
    if kept.changed:
        return Problem("event_id", "event_id_reused")
    if kept.matched.match is Match.MATCHED:
        return None
    return Problem("", f"evidence_{kept.matched.match.value}")


def _look(importing: _Import, kept: Sequence[Kept]) -> None:
    summary = importing.summary
    for number in dict.fromkeys(each.matched.number for each in kept if each.unjudged):
        if number is None:
            continue
        finding = importing.run.look_at(number, Source.FILE)
        if finding is None:
            summary.held += 1
            continue
        summary.verdicts[finding.verdict] += 1
        summary.changed += bool(finding.applied and finding.target)


def _count(summary: EvidenceSummary, kept: Sequence[Kept], rejected: Sequence[Rejected]) -> None:
    summary.new += sum(each.new for each in kept)
    summary.matches.update(each.matched.match.value for each in kept if not each.changed)
    doubtful = sum(each.changed or each.matched.match is not Match.MATCHED for each in kept)
    changed = sum(each.changed for each in kept)
    summary.rejected += len(rejected) - doubtful + changed


def _audit(session: Session, importing: _Import) -> int:
    row, summary, arrival = importing.run.close(session), importing.summary, importing.arrival
    return audit.append(
        session,
        actor=importing.run.actor,
        action="evidence_import",
        subject=arrival.origin,
        now=clock(session),
        after={
            "destination": arrival.destination,
            "read": summary.read,
            "new": summary.new,
            "rejected": summary.rejected,
            "matches": dict(summary.matches),
            "verdicts": dict(summary.verdicts),
            "changed": summary.changed,
            "held": summary.held,
            "finished": summary.finished,
        },
        evidence={
            "run_id": row.id if row else None,
            "digest": row.digest if row else None,
            "policy_hash": importing.run.policies.hash,
        },
    )
