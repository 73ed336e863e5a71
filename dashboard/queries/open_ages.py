"""The ages that half and 95 of 100 open operations do not exceed, read from the indexes that are sorted by age.

Where the total is known, a percentile is one entry of an index: the work is the walk to it, without sorting anything.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import CompoundSelect, Integer, bindparam, literal_column, select, union_all
from sqlalchemy.orm import Session

from dashboard.db import ExactText
from dashboard.domain.permissions import Scope
from dashboard.models import Operation
from dashboard.queries.open_rows import open_in_scope
from dashboard.queries.scoping import narrowing

SHARES = (50, 95)
_NAME = ExactText(64)


class Percentiles(NamedTuple):
    """The ages that half and 95 of 100 open operations do not exceed (nearest rank); None without any."""

    p50: timedelta | None = None
    p95: timedelta | None = None


Ages = dict[str | None, Percentiles]


def percentiles(
    session: Session,
    totals: Mapping[str | None, int],
    *,
    scopes: Sequence[Scope],
    now: datetime,
    tenant: str | None = None,
) -> dict[str | None, Percentiles]:
    """The percentiles of these types, of which so many are open within the grants; None names all types together."""
    wanted = [name for name, total in totals.items() if total]
    if not wanted:
        return {}
    values: dict[str, Any] = {"tenant": tenant} if tenant else {}
    for number, name in enumerate(wanted):
        values[f"open_type_{number}"] = name
        for share in SHARES:
            # The nearest rank from the youngest is so many before the oldest.
            values[f"open_rank_{number}_{share}"] = totals[name] - (totals[name] * share + 99) // 100
    if None in wanted:
        del values[f"open_type_{wanted.index(None)}"]
    statement = _statement(len(wanted), wanted.index(None) if None in wanted else -1, tuple(scopes), bool(tenant))
    found = {(number, share): created for number, share, created in session.execute(statement, values)}
    return {
        name: Percentiles(*(_age(found.get((number, share)), now=now) for share in SHARES))
        for number, name in enumerate(wanted)
    }


@lru_cache(maxsize=128)
def _statement(number: int, all_types: int, scopes: tuple[Scope, ...], with_tenant: bool) -> CompoundSelect[Any]:  # noqa: FBT001 - a key of the cache
    where = [open_in_scope(scopes)]
    if with_tenant:
        where.append(narrowing(Operation.tenant) == bindparam("tenant", type_=ExactText(64)))
    parts = []
    for each in range(number):
        of_type = [] if each == all_types else [Operation.type == bindparam(f"open_type_{each}", type_=_NAME)]
        for share in SHARES:
            rank = bindparam(f"open_rank_{each}_{share}", type_=Integer)
            entry = select(Operation.created_at).where(*where, *of_type).order_by(Operation.created_at)
            row = entry.limit(1).offset(rank).subquery(f"entry_{each}_{share}")
            parts.append(select(literal_column(str(each)), literal_column(str(share)), row.c.created_at))
    return union_all(*parts)


def _age(since: datetime | None, *, now: datetime) -> timedelta | None:
    """Never negative: a host's clock may be ahead of ours."""
    return max(now - since, timedelta()) if since else None
