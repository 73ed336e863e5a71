"""Bring operations, events and idempotency records in from a file of JSON lines.

The file is streamed: a batch of lines is checked and stored in one transaction, then forgotten. A line is
taken whole or not at all, importing twice changes nothing, and a bad line stops no other.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import BinaryIO

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.permissions import Actor
from dashboard.services import audit
from dashboard.services.import_json import MAX_LINE_BYTES
from dashboard.services.import_lines import ImportLine, kind_of, read_line
from dashboard.services.import_rows import Rejected, store
from dashboard.services.policies import Policies

BATCH_LINES = 1000
BATCH_BYTES = 8 * 1024 * 1024
# MariaDB's and MySQL's drivers call a failed check operational; so is a lost connection, which is no line's fault.
CHECK_FAILED = frozenset({4025, 3819})
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Progress = Callable[[int, int], None]


@dataclass
class ImportSummary:
    """What became of the lines of a file, counted by kind; `finished` is False while lines are left."""

    read: int = 0
    new: Counter[str] = field(default_factory=Counter)
    existing: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    finished: bool = False


@dataclass(frozen=True)
class _Run:
    database: Database
    policies: Policies
    batch_lines: int
    summary: ImportSummary
    rejected: list[Rejected]


def import_lines(
    database: Database,
    *,
    source: BinaryIO,
    name: str,
    actor: Actor,
    policies: Policies,
    reject: Callable[[Rejected], None],
    shift_to_now: bool = False,
    progress: Progress | None = None,
    batch_lines: int = BATCH_LINES,
) -> ImportSummary:
    """Import a file, hand each bad line to `reject`, and leave one audit entry even where it is interrupted.

    `progress` is told the lines and bytes read after each batch. `shift_to_now` reads the file twice and
    moves all times by the same amount, so that the newest thing that happened in it happened now.
    """
    run = _Run(database, policies, batch_lines, ImportSummary(), [])
    shift = _shift_to_now(database, source) if shift_to_now else timedelta(0)
    try:
        for batch in _batches(run, source, shift):
            _store(run, batch)
            _hand_over(run, reject)
            if progress:
                progress(run.summary.read, source.tell())
        run.summary.finished = True
    finally:
        transact(database, lambda session: _audit(session, actor, name, run.summary))
    return run.summary


def _batches(run: _Run, source: BinaryIO, shift: timedelta) -> Iterator[list[ImportLine]]:
    batch: list[ImportLine] = []
    size = 0
    for number, text in _numbered(source):
        run.summary.read += 1
        try:
            line = read_line(text, number=number)
            batch.append(line.shifted(shift) if shift else line)
        except InvalidInputError as error:
            run.rejected.append(Rejected(number, kind_of(text), error.problems, text))
        size += len(text)
        if len(batch) >= run.batch_lines or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _numbered(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Give the lines that are not blank, with their numbers; of one that is too long only its beginning."""
    number = 0
    while text := source.readline(MAX_LINE_BYTES + 1):
        number += 1
        rest = text
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = source.readline(MAX_LINE_BYTES + 1)
        if number == 1:
            text = text.removeprefix(BYTE_ORDER_MARK)
        if text.strip():
            yield number, text


def _store(run: _Run, batch: Sequence[ImportLine]) -> None:
    """Store a batch; where the database refuses it, halve it until only the line at fault is refused."""
    if not batch:
        return
    try:
        stored = transact(run.database, lambda session: store(session, batch, policies=run.policies))
    except DBAPIError as error:
        if not _refuses_a_row(error):
            raise
        if len(batch) == 1:
            problem = Problem("", "database_refused", {"reason": type(error).__name__})
            run.rejected.append(Rejected(batch[0].number, batch[0].kind, (problem,), batch[0].text))
            return
        middle = len(batch) // 2
        _store(run, batch[:middle])
        _store(run, batch[middle:])
        return
    run.summary.new.update(stored.new)
    run.summary.existing.update(stored.existing)
    run.rejected.extend(stored.rejected)


def _refuses_a_row(error: DBAPIError) -> bool:
    number = error.orig.args[0] if error.orig and error.orig.args else None
    return isinstance(error, IntegrityError | DataError) or number in CHECK_FAILED


def _hand_over(run: _Run, reject: Callable[[Rejected], None]) -> None:
    """Give the bad lines of a batch away in the order of the file."""
    for rejected in sorted(run.rejected, key=lambda rejected: rejected.number):
        run.summary.rejected[rejected.kind] += 1
        reject(rejected)
    run.rejected.clear()


def _shift_to_now(database: Database, source: BinaryIO) -> timedelta:
    newest: datetime | None = None
    for number, text in _numbered(source):
        try:
            at = read_line(text, number=number).newest()
        except InvalidInputError:
            continue
        newest = at if newest is None else max(newest, at)
    source.seek(0)
    with reading(database) as session:
        return clock(session) - newest if newest else timedelta(0)


def _audit(session: Session, actor: Actor, name: str, summary: ImportSummary) -> int:
    return audit.append(
        session,
        actor=actor,
        action="import",
        subject=name,
        now=clock(session),
        after={
            "read": summary.read,
            "new": dict(+summary.new),
            "existing": dict(+summary.existing),
            "rejected": dict(summary.rejected),
            "finished": summary.finished,
        },
    )
