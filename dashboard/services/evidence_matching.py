"""Which operation a line is about: exactly one, or nobody guesses.

A line that gives an operation id is about that operation or about none. All that it names besides must agree: a key or
a remote id of another operation makes the line doubtful, and one that nobody knows yet says nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from dashboard.domain.evidence_sources import MATCH_FIELDS
from dashboard.domain.received import Match
from dashboard.models import Operation
from dashboard.services.evidence_lines import EvidenceLine

# A remote id that fits more operations than this names none of them anyway.
MOST_FOUND = 2000
COLUMNS: Mapping[str, InstrumentedAttribute[Any]] = {name: getattr(Operation, name) for name in MATCH_FIELDS}


@dataclass(frozen=True)
class Matched:
    """How many operations a line names; `number` is the row's where it is exactly one."""

    match: Match
    number: int | None = None


@dataclass(frozen=True)
class _Known:
    number: int
    tenant: str


_Index = Mapping[str, Mapping[str, Sequence[_Known]]]


def match_lines(session: Session, destination: str, lines: Sequence[EvidenceLine]) -> list[Matched]:
    """Match each line within its destination, and within its tenant where it names one."""
    index = {name: _look_up(session, destination, name, lines) for name in MATCH_FIELDS}
    return [_match(line, index) for line in lines]


def _look_up(
    session: Session, destination: str, field: str, lines: Iterable[EvidenceLine]
) -> Mapping[str, Sequence[_Known]]:
    wanted = sorted({named for line in lines if (named := line.named(field))})
    if not wanted:
        return {}
    column = COLUMNS[field]
    rows = session.execute(
        select(column, Operation.id, Operation.tenant)
        .where(column.in_(wanted), Operation.destination == destination)
        .limit(MOST_FOUND + len(wanted))
    )
    found: dict[str, list[_Known]] = {}
    for name, number, tenant in rows:
        found.setdefault(name, []).append(_Known(number, tenant))
    return found


def _match(line: EvidenceLine, index: _Index) -> Matched:
    if line.named("operation_id") and not _found(line, "operation_id", index):
        return Matched(Match.UNMATCHED)
    numbers = set().union(*(_found(line, name, index) for name in MATCH_FIELDS))
    if len(numbers) == 1:
        return Matched(Match.MATCHED, numbers.pop())
    return Matched(Match.SEVERAL if numbers else Match.UNMATCHED)


def _found(line: EvidenceLine, field: str, index: _Index) -> set[int]:
    tenant = line.named("tenant")
    known = index[field].get(line.named(field) or "", ())
    return {each.number for each in known if tenant is None or each.tenant == tenant}
