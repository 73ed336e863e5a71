"""What history says of the last days, as the pages of trends, of types and the overview show it.

Every number and every bar leads to exactly the rows or events that it counts.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from flask import url_for
from flask_babel import format_date
from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.facts import IN_TIME, LATE, ONE_DAY, Fact, Period
from dashboard.domain.histograms import Histogram
from dashboard.domain.permissions import Scope
from dashboard.domain.verdicts import Verdict
from dashboard.edge.filters import Args, parse_choice, parse_text
from dashboard.edge.operation_filters import LONGEST_NAME
from dashboard.queries import trends
from dashboard.queries.trends import Counts, Durations, Freshness
from dashboard.web.charts import Bar, Column, Line, Tick, bars, line, ticks
from dashboard.web.formatting import duration, number, percent
from dashboard.web.language import gettext
from dashboard.web.operation_filters import listed

DAYS = ("7", "30", "90")
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
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


def asked_of(
    args: Args,
    *,
    now: datetime,
    type: str | None = None,  # noqa: A002 - the word of the design
) -> Asked:
    """Read the days and the tenant, and the type where the address does not name it otherwise."""
    days = parse_choice(args, "days", DAYS) or "30"
    name = type or parse_text(args, "type", maximum=LONGEST_NAME)
    tenant = parse_text(args, "tenant", maximum=LONGEST_NAME)
    return Asked(days, name, tenant, Period.of(days=int(days), now=now))


def history(
    session: Session, asked: Asked, visible_to: Sequence[Scope], *, types: Collection[str] | None = None
) -> History:
    """Read it, within the grants; of these types alone where they are given and the address names none."""
    which: dict[str, Any] = {
        "period": asked.period,
        "scopes": visible_to,
        "types": types if asked.type is None else (asked.type,),
        "tenant": asked.tenant,
    }
    return History(
        trends.each_count(session, facts=tuple(Fact), **which),
        trends.durations(session, **which),
        trends.freshness(session),
        clock(session),
    )


def shown(asked: Asked, found: History) -> dict[str, Any]:
    """Give the templates of trends what they show."""
    return {
        "asked": asked,
        "found": found,
        "verdicts": known(found.counts[Fact.VERDICT].by_label),
        "divergence": divergence(asked, found.counts[Fact.VERDICT]),
        "retries": columns(asked, Fact.RETRY, found.counts[Fact.RETRY]),
        "lines": lines(asked, found.durations),
        "ticks": ticks_of(asked.period),
        "most": {fact: highest(counts) for fact, counts in found.counts.items()},
        "longest": longest(found.durations),
        "times": times(asked, found),
        "unexpected": [(fact, found.counts[fact]) for fact in UNEXPECTED],
        "parts": parts,
        "fact": Fact,
    }


def looks(asked: Asked, address: Callable[..., str]) -> list[tuple[str, str, None, bool]]:
    """Offer each length of time; `address` makes the address of the page with these days."""
    return [(address(days=days), gettext("%(days)s days", days=days), None, days == asked.days) for days in DAYS]


def highest(counts: Counts) -> int:
    """The most of one day."""
    return max((sum(day.values()) for day in counts.by_day.values()), default=0)


def ticks_of(period: Period) -> list[Tick]:
    """The words below the axis of days."""
    return ticks([_tick(day) for day in period.days])


def divergence(asked: Asked, counts: Counts) -> list[Bar]:
    """Place a bar a day: how many have a verdict, and how many of them diverge."""
    columns = []
    for day in asked.period.days:
        judged, divergent = parts(counts.by_day.get(day, {}))
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


def columns(asked: Asked, fact: Fact, counts: Counts) -> list[Bar]:
    """Place a bar a day: how many events of one kind there were."""
    found = []
    for day in asked.period.days:
        total = sum(counts.by_day.get(day, {}).values())
        title = gettext("%(day)s: %(count)s", day=_day_word(day), count=number(total))
        found.append(Column(title, asked.events(fact, day), total))
    return bars(found)


def outline(asked: Asked, counts: Counts) -> list[Bar]:
    """Place a bar a day, for a chart too small for words and links."""
    totals = [sum(counts.by_day.get(day, {}).values()) for day in asked.period.days]
    return bars([Column("", "", total) for total in totals])


def lines(asked: Asked, durations: Durations) -> list[Line]:
    """Draw the percentiles of the time to confirmation, a line each."""
    by_share = {name: [_at(durations, day, share) for day in asked.period.days] for name, share in SHARES.items()}
    top = max((each.total_seconds() for lengths in by_share.values() for each in lengths if each), default=1.0)
    return [
        line(name, [_value(asked, name, *each) for each in zip(asked.period.days, lengths, strict=True)], top=top)
        for name, lengths in by_share.items()
    ]


def longest(durations: Durations) -> timedelta | None:
    """The highest point of these lines."""
    lengths = [each.percentile(SHARES["p99"]) for each in durations.by_day.values()]
    return max((length for length in lengths if length is not None), default=None)


def _at(durations: Durations, day: date, share: float) -> timedelta | None:
    return durations.by_day.get(day, Histogram()).percentile(share)


def _value(asked: Asked, name: str, day: date, length: timedelta | None) -> tuple[float | None, str, str]:
    title = gettext("%(day)s: %(name)s about %(length)s", day=_day_word(day), name=name, length=duration(length))
    return length.total_seconds() if length else None, title, asked.rows(day, by="confirmed", state="confirmed")


def times(asked: Asked, found: History) -> dict[str, Any]:
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


def type_rows(found: History) -> list[dict[str, Any]]:
    """What happened to each type, the most operations first."""
    names = {name for counts in found.counts.values() for name in counts.by_type}
    rows = []
    for name in names:
        per = {fact: counts.by_type.get(name, {}) for fact, counts in found.counts.items()}
        judged, divergent = parts(per[Fact.VERDICT])
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


def parts(by_verdict: Mapping[str, int]) -> tuple[int, int]:
    """How many have a verdict, and how many of them diverge."""
    verdicts = known(by_verdict)
    return sum(verdicts.values()), verdicts.get(Verdict.DIVERGENT.value, 0)


def known(by_verdict: Mapping[str, int]) -> dict[str, int]:
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
