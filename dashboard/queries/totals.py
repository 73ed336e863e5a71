"""How many rows a list has: exact where work is open, capped where history is (performance rule 10)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, literal_column, select
from sqlalchemy.orm import Session

from dashboard.db import rows

CAP = 10_000


class Total(NamedTuple):
    """A count; `capped` when there are more than 10,000 and counting stopped there."""

    value: int
    capped: bool


class Counting(NamedTuple):
    """A statement that counts, and whether it stops at the cap."""

    statement: Select[int]
    is_capped: bool


class Together(NamedTuple):
    """A statement that counts several things, and which of them stop at the cap."""

    statement: Select[*tuple[int, ...]]
    are_capped: Sequence[bool]


def together(countings: Sequence[Counting]) -> Together:
    """Make one statement of several."""
    columns = (each.statement.scalar_subquery() for each in countings)
    return Together(select(*columns), [each.is_capped for each in countings])


def several(session: Session, counting: Together, values: Mapping[str, Any] | None = None) -> list[Total]:
    """Count several things in one statement; `values` are those of its parameters."""
    row = rows(session, counting.statement, values).one()
    return [_total(count, is_capped=is_capped) for count, is_capped in zip(row, counting.are_capped, strict=True)]


def exact(session: Session, statement: Select[*tuple[Any, ...]]) -> Total:
    """Count all rows of a statement that an index over open work bounds."""
    return read(session, all_rows(statement))


def capped(session: Session, statement: Select[*tuple[Any, ...]]) -> Total:
    """Count rows up to 10,001 and stop."""
    return read(session, up_to_cap(statement), is_capped=True)


def all_rows(statement: Select[*tuple[Any, ...]]) -> Select[int]:
    """Make the statement of `exact`."""
    return statement.with_only_columns(func.count(), maintain_column_froms=True)


def up_to_cap(statement: Select[*tuple[Any, ...]]) -> Select[int]:
    """Make the statement of `capped`."""
    one: ColumnElement[int] = literal_column("1")
    some: Select[*tuple[Any, ...]] = statement.with_only_columns(one, maintain_column_froms=True).limit(CAP + 1)
    return select(func.count()).select_from(some.subquery())


def read(
    session: Session, counting: Select[int], values: Mapping[str, Any] | None = None, *, is_capped: bool = False
) -> Total:
    """Ask a statement that was made by one of the two above; `values` are those of its parameters."""
    return _total(rows(session, counting, values).scalar() or 0, is_capped=is_capped)


def _total(counted: int, *, is_capped: bool) -> Total:
    return Total(min(counted, CAP), capped=counted > CAP) if is_capped else Total(counted, capped=False)
