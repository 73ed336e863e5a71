"""Open work type by type: how much, how old, why it waits for a person and what it is worth.

It is counted live, or taken from the last snapshot where there is very much of it (performance rules 9 and 16). An age
is the time since creation.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from sqlalchemy.orm import Session

from dashboard.domain.ages import AGE_BUCKETS, Windows
from dashboard.domain.bulk import exact_sum
from dashboard.domain.permissions import Scope
from dashboard.domain.states import State
from dashboard.queries import open_ages, open_snapshots, open_work
from dashboard.queries.open_ages import Percentiles
from dashboard.queries.open_work import Cell, Money, OpenWork, Review


class AgeCounts(NamedTuple):
    """Open operations of one age bucket; those past their deadline and those in review among them."""

    open: int = 0
    overdue: int = 0
    review: int = 0


@dataclass(frozen=True)
class TypeFigures:
    """Open work of one type; `ages` counts by the name of the age bucket."""

    type: str
    states: Mapping[str, int]
    exceptions: int
    overdue: int
    oldest: datetime
    ages: Mapping[str, AgeCounts]

    @property
    def open(self) -> int:
        """How many are not terminal."""
        return sum(self.states.values())

    @property
    def open_by_age(self) -> list[int]:
        """How many of each age bucket, the youngest first."""
        return [self.ages.get(bucket.name, AgeCounts()).open for bucket in AGE_BUCKETS]

    def of(self, state: State) -> int:
        """How many are in this state."""
        return self.states.get(state.value, 0)


@dataclass(frozen=True)
class Standing:
    """Open work at one moment of the database's clock; `is_snapshot` where that was a little while ago.

    `percentiles` are those of the types that are shown, and under None those of all types together.
    """

    now: datetime
    types: Sequence[TypeFigures]
    percentiles: Mapping[str | None, Percentiles]
    review: Sequence[Review]
    money: Sequence[Money]
    oldest_unverified: datetime | None
    is_snapshot: bool

    @property
    def oldest(self) -> datetime | None:
        """When the oldest open operation was created."""
        return min((found.oldest for found in self.types), default=None)

    def total(self, name: str) -> int:
        """The sum over types of `open`, `exceptions`, `overdue`, or of a state by its name."""
        if name in set(State):
            return sum(found.of(State(name)) for found in self.types)
        return sum(getattr(found, name) for found in self.types)

    def aged(self, bucket: str) -> AgeCounts:
        """The sum over types of one age bucket."""
        return self._aged.get(bucket, AgeCounts())

    @cached_property
    def _aged(self) -> Mapping[str, AgeCounts]:
        found: dict[str, AgeCounts] = {}
        for name, counts in (item for each in self.types for item in each.ages.items()):
            before = found.get(name, AgeCounts())
            found[name] = AgeCounts(*(one + other for one, other in zip(before, counts, strict=True)))
        return found

    def percentiles_of(self, name: str | None = None) -> Percentiles:
        """The percentiles of one type, or of all of them."""
        return self.percentiles.get(name, Percentiles())

    def reviewed(self, *, why: str | None = None, windows: str | None = None) -> int:
        """How many are in review for this reason, of this age in windows; None: for any, of any."""
        fitting = (each for each in self.review if why in (None, each.why) and windows in (None, each.windows))
        return sum(each.size for each in fitting)

    @property
    def worth(self) -> list[Money]:
        """What the exceptions of all types are worth, by currency; the type is blank."""
        found: dict[str, list[Money]] = {}
        for each in self.money:
            found.setdefault(each.currency, []).append(each)
        return [
            Money("", currency, sum(each.size for each in some), exact_sum(each.amount for each in some))
            for currency, some in sorted(found.items())
        ]


def standing_of(
    session: Session,
    *,
    scopes: Sequence[Scope],
    windows: Windows,
    now: datetime,
    shown: int = 0,
    type: str | None = None,  # noqa: A002 - the word of the design
    tenant: str | None = None,
) -> Standing:
    """Open work within the grants, of one type and one tenant where they are named; as the last snapshot has it where
    there is one. So many types are `shown` with percentiles of their own, those with the most exceptions.
    """
    narrowed = {"type": type, "tenant": tenant}
    work = open_snapshots.latest(session, scopes=scopes, now=now, **narrowed)
    if work is None:
        work = open_work.live(session, scopes=scopes, windows=windows, now=now, **narrowed)
    types = by_type(work)
    totals: dict[str | None, int] = {each.type: each.open for each in types[:shown]}
    if type is None:
        totals[None] = sum(each.open for each in types)
    unverified = [each.oldest for each in work.cells if each.state == State.AWAITING_CONFIRMATION]
    return Standing(
        now=work.now,
        types=types,
        percentiles=_percentiles(session, work, totals, scopes=scopes, tenant=tenant),
        review=work.review,
        money=work.money,
        oldest_unverified=min(unverified, default=None),
        is_snapshot=work.is_snapshot,
    )


def by_type(work: OpenWork) -> list[TypeFigures]:
    """Open work type by type, the most exceptions first."""
    grouped: dict[str, list[Cell]] = {}
    for cell in work.cells:
        grouped.setdefault(cell.type, []).append(cell)
    found = [_of_type(name, cells) for name, cells in grouped.items()]
    return sorted(found, key=lambda each: (-each.exceptions, -each.open, each.type))


def _of_type(name: str, cells: Sequence[Cell]) -> TypeFigures:
    states: Counter[str] = Counter()
    ages: dict[str, AgeCounts] = {}
    for cell in cells:
        states[cell.state] += cell.size
        before = ages.get(cell.age, AgeCounts())
        review = cell.size if cell.state == State.MANUAL_REVIEW else 0
        ages[cell.age] = AgeCounts(before.open + cell.size, before.overdue + cell.overdue, before.review + review)
    return TypeFigures(
        type=name,
        states=dict(states),
        exceptions=sum(cell.exceptions for cell in cells),
        overdue=sum(cell.overdue for cell in cells),
        oldest=min(cell.oldest for cell in cells),
        ages=ages,
    )


def _percentiles(
    session: Session,
    work: OpenWork,
    totals: Mapping[str | None, int],
    *,
    scopes: Sequence[Scope],
    tenant: str | None,
) -> Mapping[str | None, Percentiles]:
    """Walked to in the indexes, or for who sees everything as the snapshot has them."""
    if work.ages is not None:
        return work.ages
    return open_ages.percentiles(session, totals, scopes=scopes, now=work.now, tenant=tenant)
