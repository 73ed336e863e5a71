"""How many rows a list has: exact where work is open, capped where history is (performance rule 10)."""

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, literal_column, select
from sqlalchemy.orm import Session

CAP = 10_000


class Total(NamedTuple):
    """A count; `capped` when there are more than 10,000 and counting stopped there."""

    value: int
    capped: bool


def exact(session: Session, statement: Select[*tuple[Any, ...]]) -> Total:
    """Count all rows of a statement that an index over open work bounds."""
    counted = session.scalar(statement.with_only_columns(func.count(), maintain_column_froms=True))
    return Total(counted or 0, capped=False)


def capped(session: Session, statement: Select[*tuple[Any, ...]]) -> Total:
    """Count rows up to 10,001 and stop."""
    one: ColumnElement[int] = literal_column("1")
    some: Select[*tuple[Any, ...]] = statement.with_only_columns(one, maintain_column_froms=True).limit(CAP + 1)
    counted = session.scalar(select(func.count()).select_from(some.subquery())) or 0
    return Total(min(counted, CAP), capped=counted > CAP)
