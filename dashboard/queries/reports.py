"""What people decided in a month: counts by person, type and outcome, who approved whom, and how long it took.

All of it rides the index over the time of asking, so that a month is read and history is not.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session, aliased

from dashboard.domain.actions import OVERRIDE, ActionName
from dashboard.domain.approval import ActionState, Vote
from dashboard.domain.permissions import Actor, Permission, scopes
from dashboard.models import Action, Approval, AuditEntry, Operation
from dashboard.queries import proposals
from dashboard.queries.audit import REVEAL, readable
from dashboard.queries.scoping import in_scope

SHOWN_REOPENED = 50
DECIDED = frozenset({ActionState.EXECUTED.value, ActionState.REJECTED.value})
ENDINGS = (ActionName.CLOSE.value, ActionName.CONFIRM.value, ActionName.COMPENSATE.value)


@dataclass(frozen=True)
class Span:
    """A month: from `since` to before `until`, as `now` sees it."""

    since: datetime
    until: datetime
    now: datetime


class Group(NamedTuple):
    """How many actions have all of this in common."""

    person: str
    type: str
    action: str
    state: str
    outcome: str | None
    override: bool
    times: int


class Pair(NamedTuple):
    """How often one person decided about what another one proposed."""

    proposer: str
    voter: str
    approved: int
    rejected: int


class Reopened(NamedTuple):
    """An operation that was opened again, and what had ended it; None where that was no person's action."""

    number: int
    operation_id: str
    at: datetime
    reopened_by: str
    ended_by: str | None
    ended_with: str | None
    ended_at: datetime | None


@dataclass(frozen=True)
class Report:
    """A month in numbers; `waits` are the times from proposal to decision, the shortest first."""

    groups: Sequence[Group]
    pairs: Sequence[Pair]
    waits: Sequence[timedelta]
    reopened: Sequence[Reopened]
    revealed: Sequence[tuple[str, int]]

    def count(self, which: Callable[[Group], bool] = lambda _group: True) -> int:
        """How many actions belong to the groups asked for."""
        return sum(group.times for group in self.groups if which(group))

    def by(self, key: Callable[[Group], str]) -> list[tuple[str, "Report"]]:
        """One report for each value of a key, the one with the most actions first."""
        sizes: Counter[str] = Counter()
        for group in self.groups:
            sizes[key(group)] += group.times
        order = sorted(sizes, key=lambda value: (-sizes[value], value))
        return [(value, self._only(value, key)) for value in order]

    def wait(self, share: float) -> timedelta | None:
        """The time within which this share of proposals was decided (nearest rank); None where none was."""
        return self.waits[ceil(share * len(self.waits)) - 1] if self.waits else None

    def _only(self, value: str, key: Callable[[Group], str]) -> "Report":
        return Report([group for group in self.groups if key(group) == value], (), (), (), ())


def report_of(session: Session, span: Span, *, reader: Actor) -> Report:
    """Count what was asked for in a month, within what the person reviews."""
    within = _within(span, reader)
    return Report(
        groups=_groups(session, within, now=span.now),
        pairs=_pairs(session, within),
        waits=_waits(session, within),
        reopened=_reopened(session, within),
        revealed=_revealed(session, span, reader),
    )


def _within(span: Span, reader: Actor) -> tuple[ColumnElement[bool], ...]:
    granted = scopes(reader.grants, Permission.AUDIT_SCOPE)
    return (
        Action.requested_at >= span.since,
        Action.requested_at < span.until,
        in_scope(granted, tenant=Action.tenant, type=Action.type),
    )


def _groups(session: Session, within: Iterable[ColumnElement[bool]], *, now: datetime) -> list[Group]:
    rows = (
        select(
            Action.requested_by.label("person"),
            Action.type.label("type"),
            Action.action.label("action"),
            proposals.state_at(now).label("state"),
            Action.outcome.label("outcome"),
            (Action.reason_code == OVERRIDE).label("override"),
        )
        .where(*within)
        .subquery()
    )
    found = session.execute(select(*rows.c, func.count()).group_by(*rows.c))
    return [Group(*row[:5], bool(row[5]), row[6]) for row in found]


def _pairs(session: Session, within: Iterable[ColumnElement[bool]]) -> list[Pair]:
    votes: dict[tuple[str, str], Counter[str]] = {}
    rows = session.execute(
        select(Action.requested_by, Approval.voter, Approval.vote, func.count())
        .join(Approval, Approval.action_id == Action.id)
        .where(*within, Approval.vote != Vote.WITHDRAW.value)
        .group_by(Action.requested_by, Approval.voter, Approval.vote)
    )
    for proposer, voter, vote, count in rows:
        votes.setdefault((proposer, voter), Counter())[vote] += count
    found = [Pair(*names, each[Vote.APPROVE.value], each[Vote.REJECT.value]) for names, each in votes.items()]
    return sorted(found, key=lambda pair: (-pair.approved - pair.rejected, pair.proposer, pair.voter))


def _waits(session: Session, within: Iterable[ColumnElement[bool]]) -> list[timedelta]:
    """The times to an approval or a refusal; what was withdrawn, or lapsed, nobody decided."""
    # Asked for its state as well, an engine would rather read all that was ever executed.
    asked = select(Action.requested_at, Action.executed_at, Action.ended_at, Action.state).where(*within)
    rows = session.execute(asked.where(Action.needed > 0))
    decided = ((row.executed_at or row.ended_at, row.requested_at) for row in rows if row.state in DECIDED)
    return sorted(at - asked_at for at, asked_at in decided if at)


def _reopened(session: Session, within: Iterable[ColumnElement[bool]]) -> list[Reopened]:
    """The newest reopenings, each with the last action before it that had ended the operation."""
    earlier, ended = aliased(Action), aliased(Action)
    before = (
        select(func.max(earlier.id))
        .where(earlier.operation_id == Action.operation_id, earlier.id < Action.id)
        .where(earlier.action.in_(ENDINGS), earlier.state == ActionState.EXECUTED.value)
        .correlate(Action)
        .scalar_subquery()
    )
    rows: Sequence[Any] = session.execute(
        select(
            Action.id,
            Operation.operation_id,
            Action.requested_at,
            Action.requested_by,
            ended.requested_by.label("ended_by"),
            ended.action.label("ended_with"),
            ended.executed_at.label("ended_at"),
        )
        .join(Operation, Operation.id == Action.operation_id)
        .outerjoin(ended, and_(ended.operation_id == Action.operation_id, ended.id == before))
        .where(*within, Action.action == ActionName.REOPEN.value)
        .order_by(Action.requested_at.desc(), Action.id.desc())
        .limit(SHOWN_REOPENED)
    ).all()
    return [Reopened(*row) for row in rows]


def _revealed(session: Session, span: Span, reader: Actor) -> list[tuple[str, int]]:
    """How many fields each person has revealed."""
    entry = AuditEntry
    rows = session.execute(
        select(entry.actor_id, func.count().label("times"))
        .where(entry.action == REVEAL, entry.at >= span.since, entry.at < span.until, entry.outcome == "done")
        .where(readable(reader))
        .group_by(entry.actor_id)
    )
    return sorted(((row.actor_id, row.times) for row in rows), key=lambda row: (-row[1], row[0]))
