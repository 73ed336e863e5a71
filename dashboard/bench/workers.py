"""How fast workers drain due operations, and whether any was handled twice or lost."""

import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dashboard.bench import processes
from dashboard.bench.handlers import CALLS
from dashboard.bench.scratch import Progress
from dashboard.db import Database, reading
from dashboard.domain.states import State
from dashboard.models import Operation, OperationEvent
from dashboard.services import rollup_checks, rollups

LOOK_SECONDS = 0.2
# Without any progress for so long the rest counts as lost.
PATIENCE_SECONDS = 60.0
COMMAND = ("worker", "--handlers", "dashboard.bench.handlers:handlers")


@dataclass(frozen=True)
class Drained:
    """What came of it: `took` is from the first claim to the last confirmation, by the database's clock.

    `cpu` is what the workers used, their start included; `said` is the last line of their log.
    """

    operations: int
    took: timedelta
    by_worker: Mapping[str, int]
    twice: int
    lost: int
    cpu: timedelta
    said: str


def drain(database: Database, *, url: str, operations: int, after: int, workers: int, progress: Progress) -> Drained:
    """Let worker processes work off the operations that are numbered after this one, and count each."""
    # What filling left to fold, and the check of the day, are no part of draining.
    rollups.fold(database)
    rollup_checks.check_if_due(database)
    with tempfile.TemporaryDirectory(prefix="operations-bench-") as name:
        folder = Path(name)
        calls = folder / "calls"
        calls.mkdir()
        settings, cpu_before = {CALLS: str(calls)}, _cpu_of_ended_processes()
        with processes.running(COMMAND, url=url, folder=folder, count=workers, environment=settings) as running:
            _wait(database, after=after, operations=operations, running=running, progress=progress)
        said, cpu = processes.last_words(folder), _cpu_of_ended_processes() - cpu_before
        made = {path.name: _numbers(path, after=after) for path in calls.iterdir()}
    with reading(database) as session:
        return _result(session, after=after, operations=operations, made=made, cpu=cpu, said=said)


def _cpu_of_ended_processes() -> timedelta:
    times = os.times()
    return timedelta(seconds=times.children_user + times.children_system)


def _wait(
    database: Database, *, after: int, operations: int, running: Sequence[subprocess.Popen[bytes]], progress: Progress
) -> None:
    """Wait until nothing is open any more, or nothing moves; a worker that ends by itself ends the wait."""
    done, moved = 0, time.monotonic()
    while done < operations and time.monotonic() - moved < PATIENCE_SECONDS:
        if any(process.poll() is not None for process in running):
            return
        time.sleep(LOOK_SECONDS)
        with reading(database) as session:
            now_done = operations - _open(session, after=after)
        if now_done != done:
            done, moved = now_done, time.monotonic()
            progress(done)


def _open(session: Session, *, after: int) -> int:
    counted = select(func.count()).where(Operation.id > after, Operation.is_open == 1)
    return session.scalar(counted) or 0


def _numbers(path: Path, *, after: int) -> list[int]:
    numbers = [int(line) for line in path.read_text(encoding="ascii").splitlines()]
    return [number for number in numbers if number > after]


def _result(
    session: Session, *, after: int, operations: int, made: Mapping[str, list[int]], cpu: timedelta, said: str
) -> Drained:
    calls = Counter(number for numbers in made.values() for number in numbers)
    confirmed = session.scalar(
        select(func.count()).where(Operation.id > after, Operation.state == State.CONFIRMED.value)
    )
    span = select(func.min(OperationEvent.at).label("began"), func.max(OperationEvent.at).label("ended"))
    moved = session.execute(span.where(OperationEvent.operation_id > after, OperationEvent.from_state.is_not(None)))
    began, ended = moved.one()
    return Drained(
        operations=operations,
        took=ended - began if calls else timedelta(0),
        by_worker={f"worker {number}": len(made[name]) for number, name in enumerate(sorted(made), start=1)},
        twice=sum(times > 1 for times in calls.values()),
        lost=operations - (confirmed or 0),
        cpu=cpu,
        said=said,
    )
