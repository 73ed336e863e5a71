"""Measuring every page beside its floor, in one run, and keeping what came of it as JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
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
    `smaller` is the same page on a database with fewer operations, visited in turn with it.
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
    smaller: float | None = None

    @property
    def times(self) -> float:
        """How many times the floor."""
        return self.page / self.floor if self.floor else 0.0

    @property
    def grown(self) -> float | None:
        """How many times the page of the smaller database."""
        return self.page / self.smaller if self.smaller else None


@dataclass(frozen=True)
class Run:
    """All pages of one run, and where it was; `smaller` is how many operations the smaller database has."""

    engine: str
    machine: str
    date: str
    command: str
    filled: Mapping[str, int]
    pages: Sequence[Measured]
    peers: Sequence[Mapping[str, Any]] = ()
    smaller: int | None = None

    def page(self, name: str) -> Measured | None:
        """A page by its name."""
        return next((each for each in self.pages if each.name == name), None)


@dataclass(frozen=True)
class _Shop:
    """The application on a database, its pages by name, and the cookie of who may see all of it."""

    app: Flask
    pages: Mapping[str, Page]
    wide: str


@dataclass(frozen=True)
class _Visitors:
    """What is visited, with the cookie of a person of few grants, and how often."""

    shop: _Shop
    narrow: str
    smaller: _Shop | None
    repeat: int
    seconds: float


def measure(
    database: Database,
    *,
    policies: Path,
    smaller: Database | None = None,
    repeat: int = REPEAT,
    seconds: float = SECONDS,
    told: Callable[[Measured], None],
) -> list[Measured]:
    """Visit every page as a person of all grants and as one of few, each beside its floor and the smaller database."""
    visited = _opened(database, policies=policies)
    narrow = visits.signed_in(visited.app, database, name="narrow", grants=visits.NARROW)
    beside = _opened(smaller, policies=policies) if smaller else None
    visitors = _Visitors(visited, narrow, beside, repeat, seconds)
    found = []
    with floor_of(visited.app, database) as floor:
        for page in visited.pages.values():
            found.append(_measure(database, visitors, floor, page))
            told(found[-1])
    return found


def _opened(database: Database, *, policies: Path) -> _Shop:
    app = visits.application(database, policies=policies)
    known = {page.name: page for page in pages.pages_of(database, app)}
    return _Shop(app, known, visits.signed_in(app, database, name="wide", grants=visits.WIDE))


def save(run: Run, path: Path) -> None:
    """Keep a run, to print it again or to compare another one with it."""
    path.write_text(json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> Run:
    """A run that was kept."""
    told = json.loads(path.read_text(encoding="utf-8"))
    return Run(**{**told, "pages": [Measured(**page) for page in told["pages"]]})


def _measure(database: Database, visitors: _Visitors, floor: Floor, page: Page) -> Measured:
    ours = _visit(visitors.shop, page)
    status, body = ours()
    if status not in OK:
        return Measured(page.name, page.kind, status, 0, 0.0, 0.0, 0.0, 0.0, 0.0, None, len(body))
    ours()
    with visits.overhearing(database) as heard:
        ours()
    statements = tuple(heard.statements)
    bare = visits.visit(floor.app, floor.add(page.name, statements), cookie=visitors.shop.wide)
    few = visits.visit(visitors.shop.app, page.address, cookie=visitors.narrow)
    compared = {"ours": ours, "bare": bare, "few": few} if few()[0] in OK else {"ours": ours, "bare": bare}
    if visitors.smaller and page.name in visitors.smaller.pages:
        compared["smaller"] = _visit(visitors.smaller, visitors.smaller.pages[page.name])
    took = visits.timed(compared, seconds=visitors.seconds, repeat=visitors.repeat)
    return Measured(
        name=page.name,
        kind=page.kind,
        status=status,
        statements=len(statements),
        sql=_sql(database, ours, repeat=min(visits.FEWEST, visitors.repeat)),
        page=took["ours"].usual,
        cpu=took["ours"].usual_cpu,
        floor=took["bare"].usual,
        floor_cpu=took["bare"].usual_cpu,
        narrow=took["few"].usual if "few" in took else None,
        bytes=len(body),
        smaller=took["smaller"].usual if "smaller" in took else None,
    )


def _visit(shop: _Shop, page: Page) -> visits.Visit:
    return visits.visit(shop.app, page.address, cookie=shop.wide)


def _sql(database: Database, ours: visits.Visit, *, repeat: int) -> float:
    times = []
    for _ in range(repeat):
        with visits.overhearing(database) as heard:
            ours()
        times.append(heard.seconds * visits.MILLISECONDS)
    return visits.usual(times)
