"""The figures of the overview, each countable again as rows of a list.

Open work is counted live, or taken from the last snapshot where there is very much of it (performance rules 9 and 16);
verdicts come from the counters by day. An age is the time since creation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Select, case, func, select
from sqlalchemy.orm import Session

from dashboard.domain.ages import Windows
from dashboard.domain.facts import Fact, Period
from dashboard.domain.keys import PENDING_LONG, KeyState
from dashboard.domain.permissions import Scope
from dashboard.domain.states import State
from dashboard.domain.verdicts import Verdict
from dashboard.models import Action, IdempotencyRecord, Operation
from dashboard.queries import trends
from dashboard.queries.idempotency import CONFLICTED
from dashboard.queries.idempotency import IS_OPEN as KEYS_OPEN
from dashboard.queries.open_types import Standing, standing_of
from dashboard.queries.proposals import standing
from dashboard.queries.scoping import in_scope, narrowing
from dashboard.queries.trends import Counts

DIVERGENCE_DAYS = 30
CONFIRMED_SAMPLE = 1000
CONFIRMED_DAYS = 7
# What the overview says of the last month.
MONTHLY = (Fact.VERDICT, Fact.RETRY, Fact.PROBE_FAILED, Fact.CONTRADICTED, Fact.REOPENED)


class Divergence(NamedTuple):
    """The verdicts of operations created today or in the 29 UTC days before, counted; how many of them diverge."""

    verdicts: Mapping[str, int]
    since: datetime
    until: datetime

    @property
    def divergent(self) -> int:
        """How many found something else than expected."""
        return self.verdicts.get(Verdict.DIVERGENT.value, 0)

    @property
    def judged(self) -> int:
        """How many have a verdict at all."""
        return sum(self.verdicts.values())

    @property
    def rate(self) -> float | None:
        """The share between 0 and 1; None where none was judged."""
        return self.divergent / self.judged if self.judged else None


class Confirmation(NamedTuple):
    """Time from creation to confirmation of all confirmed at or after `since`: about the newest 1,000 of seven days."""

    p95: timedelta | None
    size: int
    since: datetime | None


@dataclass(frozen=True)
class Overview(Standing):
    """All figures of the overview: open work, what the last month says, and what waits elsewhere."""

    divergence: Divergence
    confirmation: Confirmation
    month: Mapping[Fact, Counts]
    period: Period
    idempotency_conflicts: int
    keys_waiting: int
    actions_to_verify: int
    approvals_waiting: int


def overview(session: Session, *, scopes: Sequence[Scope], windows: Windows, now: datetime, shown: int) -> Overview:
    """Count everything the overview shows, within the grants; the number of queries is fixed.

    So many types are `shown` with percentiles of their own: those with the most exceptions.
    """
    standing_work = standing_of(session, scopes=scopes, windows=windows, now=now, shown=shown)
    period = Period.of(days=DIVERGENCE_DAYS, now=now)
    month = trends.each_count(session, facts=MONTHLY, period=period, scopes=scopes)
    conflicts, keys_waiting = session.execute(_keys(scopes, now=now)).one()
    to_verify, waiting = session.execute(_actions(scopes, now=now)).one()
    return Overview(
        **{each.name: getattr(standing_work, each.name) for each in fields(Standing)},
        divergence=_divergence(month[Fact.VERDICT], period),
        confirmation=_confirmation(session, scopes=scopes, now=now),
        month=month,
        period=period,
        idempotency_conflicts=int(conflicts),
        keys_waiting=int(keys_waiting),
        actions_to_verify=int(to_verify),
        approvals_waiting=int(waiting),
    )


def _keys(scopes: Sequence[Scope], *, now: datetime) -> Select[*tuple[int, int]]:
    """How many keys came with other content, and how many have waited too long for an outcome."""
    record = IdempotencyRecord
    visible = in_scope(scopes, tenant=narrowing(record.tenant), type=narrowing(record.operation))
    late = (KEYS_OPEN, record.state == KeyState.PENDING.value, record.created_at < now - PENDING_LONG)
    conflicts = select(func.count()).select_from(record).where(CONFLICTED, visible).scalar_subquery()
    return select(conflicts, select(func.count()).select_from(record).where(*late, visible).scalar_subquery())


def _actions(scopes: Sequence[Scope], *, now: datetime) -> Select[*tuple[int, int]]:
    """How many actions have an effect to be verified, and how many proposals wait for a second person."""
    return select(
        func.coalesce(func.sum(case((Action.outcome == "to_verify", 1), else_=0)), 0),
        func.coalesce(func.sum(case((standing(now), 1), else_=0)), 0),
    ).where(
        (Action.outcome == "to_verify") | (Action.state == "proposed"),
        in_scope(scopes, tenant=Action.tenant, type=Action.type),
    )


def _divergence(verdicts: Counts, period: Period) -> Divergence:
    """From the counters by day: the work does not grow with the operations of a month."""
    # A host may write words that are no verdicts; no list has a filter for them.
    known = {verdict.value: verdicts.by_label.get(verdict.value, 0) for verdict in Verdict}
    return Divergence(known, period.since, period.until)


def _confirmation(session: Session, *, scopes: Sequence[Scope], now: datetime) -> Confirmation:
    # The days bound the work where a person's grants are rare among the confirmed, the sample where they are common.
    newest = now - timedelta(days=CONFIRMED_DAYS)
    visible = in_scope(scopes, tenant=narrowing(Operation.tenant), type=narrowing(Operation.type))
    rows = session.execute(
        select(Operation.created_at, Operation.confirmed_at)
        .where(Operation.confirmed_at >= newest, narrowing(Operation.state) == State.CONFIRMED.value, visible)
        .order_by(Operation.confirmed_at.desc(), Operation.id.desc())
        .limit(CONFIRMED_SAMPLE + 1)
    ).all()
    sample = _whole_instants(rows)
    if not sample:
        return Confirmation(None, 0, None)
    times = sorted(max(row.confirmed_at - row.created_at, timedelta()) for row in sample)
    return Confirmation(times[(len(times) * 95 + 99) // 100 - 1], len(times), sample[-1].confirmed_at)


def _whole_instants(rows: Sequence[Any]) -> Sequence[Any]:
    """The newest 1,000 without an instant that reaches beyond them, so that the list from `since` has these rows."""
    if len(rows) <= CONFIRMED_SAMPLE:
        return rows
    cut = rows[-1].confirmed_at
    return [row for row in rows if row.confirmed_at > cut] or rows[:CONFIRMED_SAMPLE]
