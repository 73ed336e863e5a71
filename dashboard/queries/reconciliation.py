"""Runs of the reconciler and what they found, within a person's grants.

Who may see everything reads the counts a run keeps; for everybody else they are counted from the findings they may see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Subquery, and_, case, false, func, select
from sqlalchemy.orm import Session

from dashboard.domain.errors import NotFoundError
from dashboard.domain.permissions import Scope
from dashboard.domain.responses import Reason
from dashboard.domain.verdicts import Verdict
from dashboard.models import Operation, ReconciliationFinding, ReconciliationRun
from dashboard.queries import keyset
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.moments import NUMBER
from dashboard.queries.scoping import in_scope

ORIGINS = ("worker", "command", "check", "evidence")
SKIPPED = "skipped"
FOUND = (*(verdict.value for verdict in Verdict), SKIPPED)

_Run, _Finding = ReconciliationRun, ReconciliationFinding
NEWEST = Sort("newest", _Run.id, _Run.id, descending=True, read=int)
FOUND_NEWEST = Sort("newest", _Finding.run_id, _Finding.run_id, descending=True, read=int)
IN_ORDER = Sort("in_order", _Finding.id, _Finding.id, descending=False, read=int)

COLUMNS = (
    _Finding.at,
    _Finding.tenant,
    _Finding.type,
    _Finding.state,
    _Finding.attempts,
    _Finding.verdict,
    _Finding.response,
    _Finding.target,
    _Finding.applied,
    _Finding.reason,
    _Finding.evidence,
    Operation.operation_id,
    Operation.entity_type,
    Operation.entity_id,
    Operation.amount,
    Operation.currency,
    Operation.state.label("operation_state"),
)


@dataclass(frozen=True)
class Counts:
    """How many findings of a run there are: in all, by verdict (`skipped`: changed meanwhile), and acted on."""

    examined: int = 0
    acted: int = 0
    found: Mapping[str, int] | None = None

    def of(self, name: str) -> int:
        """How many of a verdict, or skipped."""
        return (self.found or {}).get(name, 0)


@dataclass(frozen=True)
class RunFilter:
    """What the list of runs is narrowed to."""

    origin: str | None = None


def list_runs(session: Session, filters: RunFilter, *, scopes: Sequence[Scope], position: Position) -> Page:
    """One page of rows with the columns of a run, newest first.

    A run without any finding in the grants does not exist for the person.
    """
    return keyset.fetch(session, _runs(filters, tuple(scopes), position.shape), sort=NEWEST, position=position)


@lru_cache(maxsize=500)
def _runs(filters: RunFilter, scopes: tuple[Scope, ...], position: Position) -> Select[*tuple[Any, ...]]:
    statement: Select[*tuple[Any, ...]] = select(*_Run.__table__.c, _Run.id.label("number"), _Run.id.label("key"))
    if filters.origin:
        statement = statement.where(_Run.origin == filters.origin)
    if not _sees_all(scopes):
        statement = statement.where(_Run.id.in_(select(_with_findings(filters, scopes, position).c.number)))
    return keyset.narrow(statement, sort=NEWEST, position=position)


def _with_findings(filters: RunFilter, scopes: Sequence[Scope], position: Position) -> Subquery:
    """The runs of a page: for each grant as many as the page has, by the index of what was found there."""
    chosen = select(_Finding.run_id.label("number")).distinct()
    if filters.origin:
        chosen = chosen.join(_Run, _Run.id == _Finding.run_id).where(_Run.origin == filters.origin)
    parts = [keyset.narrow(chosen.where(_in([scope])), sort=FOUND_NEWEST, position=position) for scope in scopes]
    return keyset.together(parts or [chosen.where(false())])


def counts_of(session: Session, runs: Sequence[Any], *, scopes: Sequence[Scope]) -> Mapping[int, Counts]:
    """The counts of these runs, or rows of them, in one query whatever their number."""
    if _sees_all(scopes):
        return {run.id: _stored(run) for run in runs}
    skipped = _Finding.reason == Reason.CHANGED_MEANWHILE.value
    found = case((skipped, SKIPPED), else_=_Finding.verdict).label("found")
    acted = func.sum(case((and_(_Finding.applied, _Finding.target.is_not(None)), 1), else_=0)).label("acted")
    rows = session.execute(
        select(_Finding.run_id, found, func.count().label("size"), acted)
        .where(_Finding.run_id.in_([run.id for run in runs]), _in(scopes))
        .group_by(_Finding.run_id, found)
    ).all()
    counted: dict[int, Counts] = {}
    for row in rows:
        known = counted.get(row.run_id, Counts())
        counted[row.run_id] = Counts(
            known.examined + row.size, known.acted + int(row.acted), {**(known.found or {}), row.found: row.size}
        )
    return counted


def get_run(session: Session, number: int, *, scopes: Sequence[Scope]) -> ReconciliationRun:
    """One run; NotFoundError where none of its findings lies within the grants."""
    run = session.get(_Run, number)
    seen = run is not None and (
        _sees_all(scopes)
        or session.scalar(select(_Finding.id).where(_Finding.run_id == number, _in(scopes)).limit(1)) is not None
    )
    if run is None or not seen:
        raise NotFoundError(run=number)
    return run


def list_findings(
    session: Session, number: int, *, found: frozenset[str], scopes: Sequence[Scope], position: Position
) -> Page:
    """One page of a run's findings in the order they were made, with COLUMNS; `found` keeps some verdicts."""
    wide = _findings(found, tuple(scopes), position.shape)
    return keyset.fetch(session, wide, sort=IN_ORDER, position=position, values={"number": number})


@lru_cache(maxsize=500)
def _findings(found: frozenset[str], scopes: tuple[Scope, ...], position: Position) -> Select[*tuple[Any, ...]]:
    chosen: Select[*tuple[Any, ...]] = select(_Finding.id.label("number"), _Finding.id.label("key")).where(
        _Finding.run_id == NUMBER, _in(scopes), *_among(found)
    )
    ids = keyset.narrow(chosen, sort=IN_ORDER, position=position).subquery("page")
    return (
        select(ids.c.number, ids.c.key, *COLUMNS)
        .select_from(ids)
        .join(_Finding, _Finding.id == ids.c.number)
        .join(Operation, Operation.id == _Finding.operation_id)
        .order_by(*keyset.wide_order(IN_ORDER, position, key=ids.c.key, number=ids.c.number))
    )


def _stored(run: Any) -> Counts:
    return Counts(run.examined, run.acted, {name: getattr(run, name) for name in FOUND})


def _among(found: frozenset[str]) -> list[ColumnElement[bool]]:
    if not found:
        return []
    skipped = _Finding.reason == Reason.CHANGED_MEANWHILE.value
    verdicts = and_(_Finding.verdict.in_(sorted(found - {SKIPPED})), ~skipped)
    return [verdicts | skipped if SKIPPED in found else verdicts]


def _in(scopes: Sequence[Scope]) -> ColumnElement[bool]:
    return in_scope(scopes, tenant=_Finding.tenant, type=_Finding.type)


def _sees_all(scopes: Sequence[Scope]) -> bool:
    return any(scope.tenant is None and scope.type is None for scope in scopes)
