"""Measuring every page beside its floor, in one run, and keeping what came of it as JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask

from dashboard.bench import pages, visits
from dashboard.bench.floor import Floor, floor_of
from dashboard.bench.pages import Page
from dashboard.db import Database

OK = frozenset({200, 302})
REPEAT = 25
SECONDS = 2.0


@dataclass(frozen=True)
class Measured:
    """A page in milliseconds, medians: what the server took, what of it the driver took over SQL, and the floor.

    `cpu` is what this process used of a request. `narrow` is for a person of few grants, None where they may not look.
    """

    name: str
    kind: str
    status: int
    statements: int
    sql: float
    page: float
    cpu: float
    floor: float
    floor_cpu: float
    narrow: float | None
    bytes: int

    @property
    def times(self) -> float:
        """How many times the floor."""
        return self.page / self.floor if self.floor else 0.0


@dataclass(frozen=True)
class Run:
    """All pages of one run, and where it was."""

    engine: str
    machine: str
    date: str
    command: str
    filled: Mapping[str, int]
    pages: Sequence[Measured]
    peers: Sequence[Mapping[str, Any]] = ()

    def page(self, name: str) -> Measured | None:
        """A page by its name."""
        return next((each for each in self.pages if each.name == name), None)


@dataclass(frozen=True)
class _Visitors:
    """The application, and the cookies of who visits it."""

    app: Flask
    wide: str
    narrow: str
    repeat: int
    seconds: float


def measure(
    database: Database,
    *,
    policies: Path,
    repeat: int = REPEAT,
    seconds: float = SECONDS,
    told: Callable[[Measured], None],
) -> list[Measured]:
    """Visit every page as a person of all grants and as one of few, each beside its floor."""
    app = visits.application(database, policies=policies)
    enter = partial(visits.signed_in, app, database)
    wide, narrow = enter(name="wide", grants=visits.WIDE), enter(name="narrow", grants=visits.NARROW)
    visitors = _Visitors(app, wide, narrow, repeat, seconds)
    found = []
    with floor_of(app, database) as floor:
        for page in pages.pages_of(database, app):
            found.append(_measure(database, visitors, floor, page))
            told(found[-1])
    return found


def save(run: Run, path: Path) -> None:
    """Keep a run, to print it again or to compare another one with it."""
    path.write_text(json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> Run:
    """A run that was kept."""
    told = json.loads(path.read_text(encoding="utf-8"))
    return Run(**{**told, "pages": [Measured(**page) for page in told["pages"]]})


def _measure(database: Database, visitors: _Visitors, floor: Floor, page: Page) -> Measured:
    ours = visits.visit(visitors.app, page.address, cookie=visitors.wide)
    status, body = ours()
    if status not in OK:
        return Measured(page.name, page.kind, status, 0, 0.0, 0.0, 0.0, 0.0, 0.0, None, len(body))
    ours()
    with visits.overhearing(database) as heard:
        ours()
    statements = tuple(heard.statements)
    bare = visits.visit(floor.app, floor.add(page.name, statements), cookie=visitors.wide)
    few = visits.visit(visitors.app, page.address, cookie=visitors.narrow)
    compared = [ours, bare, few] if few()[0] in OK else [ours, bare]
    took = visits.timed(compared, seconds=visitors.seconds, repeat=visitors.repeat)
    return Measured(
        name=page.name,
        kind=page.kind,
        status=status,
        statements=len(statements),
        sql=_sql(database, ours, repeat=min(visits.FEWEST, visitors.repeat)),
        page=took[0].usual,
        cpu=took[0].usual_cpu,
        floor=took[1].usual,
        floor_cpu=took[1].usual_cpu,
        narrow=took[2].usual if len(took) > len("ab") else None,
        bytes=len(body),
    )


def _sql(database: Database, ours: visits.Visit, *, repeat: int) -> float:
    times = []
    for _ in range(repeat):
        with visits.overhearing(database) as heard:
            ours()
        times.append(heard.seconds * visits.MILLISECONDS)
    return visits.usual(times)
