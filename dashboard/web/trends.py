"""Trends: what history says by day and type, each number beside the rows it counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from flask import Blueprint, render_template, request, url_for
from flask_babel import format_date, gettext
from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.facts import IN_TIME, LATE, ONE_DAY, Fact, Period
from dashboard.domain.histograms import Histogram
from dashboard.domain.permissions import Permission, Scope, scopes
from dashboard.domain.verdicts import Verdict
from dashboard.edge.filters import Args, parse_choice, parse_text
from dashboard.edge.operation_filters import LONGEST_NAME
from dashboard.queries import trends
from dashboard.queries.trends import Counts, Durations, Freshness
from dashboard.web.charts import Bar, Column, Line, bars, line, ticks
from dashboard.web.context import actor, read, requires
from dashboard.web.formatting import duration, number, percent
from dashboard.web.operation_filters import listed

blueprint = Blueprint("trends", __name__)

DAYS = ("7", "30", "90")
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
MOST_TYPES = 100
UNEXPECTED = (Fact.PROBE_FAILED, Fact.CONTRADICTED, Fact.REOPENED, Fact.KEY_CONFLICT)


@dataclass(frozen=True)
class Asked:
    """Which history is shown."""

    days: str
    type: str | None
    tenant: str | None
    period: Period

    @property
    def narrowed(self) -> dict[str, Any]:
        """The filter as parameters of an address."""
        return {"type": self.type, "tenant": self.tenant}

    def rows(self, day: date | None = None, *, by: str, **more: Any) -> str:
        """The address of the operations created or confirmed in the period, or on one day of it."""
        since, until = _bounds(self.period, day)
        times = {f"{by}_from": _written(since), f"{by}_to": _written(until)}
        return listed(**{**self.narrowed, **more}, **times)

    def events(self, fact: Fact, day: date | None = None, *, label: str | None = None, **more: Any) -> str:
        """The address of the events of one kind in the period, or on one day of it."""
        since, until = _bounds(self.period, day)
        times: dict[str, Any] = {"from": _written(since), "to": _written(until)}
        return url_for("facts.index", fact=fact.value, label=label, **{**self.narrowed, **more}, **times)


@dataclass(frozen=True)
class History:
    """All counts of the page; the number of queries does not depend on how much there is."""

    counts: Mapping[Fact, Counts]
    durations: Durations
    freshness: Freshness
    now: datetime


@blueprint.get("/trends")
@requires(Permission.BROWSE)
def index() -> str:
    """Show the last days."""
    visible_to = scopes(actor().grants, Permission.BROWSE)
    with read() as session:
        asked = _asked(request.args, now=clock(session))
        found = _history(session, asked, visible_to)
    return render_template(
        "trends/index.html",
        asked=asked,
        looks=[
            (
                url_for(".index", days=days, **asked.narrowed),
                gettext("%(days)s days", days=days),
                None,
                days == asked.days,
            )
            for days in DAYS
        ],
        found=found,
        verdicts=_known(found.counts[Fact.VERDICT].by_label),
        divergence=_divergence(asked, found.counts[Fact.VERDICT]),
        retries=_columns(asked, Fact.RETRY, found.counts[Fact.RETRY]),
        lines=_lines(asked, found.durations),
        ticks=ticks([_tick(day) for day in asked.period.days]),
        most={
            fact: max((sum(day.values()) for day in counts.by_day.values()), default=0)
            for fact, counts in found.counts.items()
        },
        longest=_longest(found.durations),
        times=_times(asked, found),
        unexpected=[(fact, found.counts[fact]) for fact in UNEXPECTED],
        types=_types(found)[:MOST_TYPES],
        parts=_parts,
        fact=Fact,
        shares=SHARES,
        day_word=_day_word,
    )


def _asked(args: Args, *, now: datetime) -> Asked:
    days = parse_choice(args, "days", DAYS) or "30"
    name, tenant = (parse_text(args, each, maximum=LONGEST_NAME) for each in ("type", "tenant"))
    return Asked(days, name, tenant, Period.of(days=int(days), now=now))


def _history(session: Session, asked: Asked, visible_to: tuple[Scope, ...]) -> History:
    which: dict[str, Any] = {"period": asked.period, "scopes": visible_to, "type": asked.type, "tenant": asked.tenant}
    return History(
        {fact: trends.counts(session, fact=fact, **which) for fact in Fact},
        trends.durations(session, **which),
        trends.freshness(session),
        clock(session),
    )


def _divergence(asked: Asked, counts: Counts) -> list[Bar]:
    columns = []
    for day in asked.period.days:
        judged, divergent = _parts(counts.by_day.get(day, {}))
        said = {
            "day": _day_word(day),
            "part": number(divergent),
            "whole": number(judged),
            "share": _share(divergent, judged),
        }
        title = gettext("%(day)s: %(part)s of %(whole)s diverged, %(share)s", **said)
        url = asked.rows(day, by="created", verdict=[each.value for each in Verdict])
        columns.append(Column(title, url, judged, divergent))
    return bars(columns)


def _columns(asked: Asked, fact: Fact, counts: Counts) -> list[Bar]:
    columns = []
    for day in asked.period.days:
        total = sum(counts.by_day.get(day, {}).values())
        title = gettext("%(day)s: %(count)s", day=_day_word(day), count=number(total))
        columns.append(Column(title, asked.events(fact, day), total))
    return bars(columns)


def _lines(asked: Asked, durations: Durations) -> list[Line]:
    by_share = {name: [_at(durations, day, share) for day in asked.period.days] for name, share in SHARES.items()}
    top = max((each.total_seconds() for lengths in by_share.values() for each in lengths if each), default=1.0)
    return [
        line(name, [_value(asked, name, *each) for each in zip(asked.period.days, lengths, strict=True)], top=top)
        for name, lengths in by_share.items()
    ]


def _longest(durations: Durations) -> timedelta | None:
    lengths = [each.percentile(SHARES["p99"]) for each in durations.by_day.values()]
    return max((length for length in lengths if length is not None), default=None)


def _at(durations: Durations, day: date, share: float) -> timedelta | None:
    return durations.by_day.get(day, Histogram()).percentile(share)


def _value(asked: Asked, name: str, day: date, length: timedelta | None) -> tuple[float | None, str, str]:
    title = gettext("%(day)s: %(name)s about %(length)s", day=_day_word(day), name=name, length=duration(length))
    return length.total_seconds() if length else None, title, asked.rows(day, by="confirmed", state="confirmed")


def _times(asked: Asked, found: History) -> dict[str, Any]:
    """Time to confirmation in numbers: percentiles are estimates, counts are exact."""
    counts = found.counts[Fact.CONFIRMED].by_label
    in_time, late = counts.get(IN_TIME, 0), counts.get(LATE, 0)
    return {
        "count": in_time + late,
        "late": late,
        "share": in_time / (in_time + late) if in_time + late else None,
        "url": asked.rows(by="confirmed", state="confirmed"),
        **{name: found.durations.all.percentile(share) for name, share in SHARES.items()},
    }


def _types(found: History) -> list[dict[str, Any]]:
    """One row a type, the most operations first."""
    names = {name for counts in found.counts.values() for name in counts.by_type}
    rows = []
    for name in names:
        per = {fact: counts.by_type.get(name, {}) for fact, counts in found.counts.items()}
        judged, divergent = _parts(per[Fact.VERDICT])
        histogram = found.durations.by_type.get(name, Histogram())
        rows.append(
            {
                "type": name,
                "created": sum(per[Fact.CREATED].values()),
                "judged": judged,
                "divergent": divergent,
                "retries": sum(per[Fact.RETRY].values()),
                "confirmed": sum(per[Fact.CONFIRMED].values()),
                "late": per[Fact.CONFIRMED].get(LATE, 0),
                "p95": histogram.percentile(SHARES["p95"]),
            }
        )
    return sorted(rows, key=lambda row: (-row["created"], row["type"]))


def _parts(by_verdict: Mapping[str, int]) -> tuple[int, int]:
    """How many have a verdict, and how many of them diverge."""
    known = _known(by_verdict)
    return sum(known.values()), known.get(Verdict.DIVERGENT.value, 0)


def _known(by_verdict: Mapping[str, int]) -> dict[str, int]:
    """Without the words of hosts that are no verdicts: no list has a filter for them."""
    return {verdict.value: by_verdict[verdict] for verdict in Verdict if verdict in by_verdict}


def _share(part: int, whole: int) -> str:
    return percent(part / whole if whole else None)


def _bounds(period: Period, day: date | None) -> tuple[datetime, datetime]:
    if day is None:
        return period.since, period.until
    since = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return since, since + ONE_DAY


def _written(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _day_word(day: date) -> str:
    return str(format_date(datetime(day.year, day.month, day.day, 12), "medium", rebase=False))  # noqa: DTZ001 - a day


def _tick(day: date) -> str:
    return str(format_date(datetime(day.year, day.month, day.day, 12), "d MMM", rebase=False))  # noqa: DTZ001 - a day
