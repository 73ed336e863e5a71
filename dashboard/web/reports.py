"""The manager's review of a month: who decided what, whether it worked, and who approved whom."""

import csv
import io
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, render_template, request, url_for
from flask_babel import format_date

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.permissions import Permission, holds, scopes
from dashboard.edge.filters import Args
from dashboard.queries.reports import Group, Report, Span, report_of
from dashboard.services import report_export
from dashboard.services.audit_export import guarded
from dashboard.web import context
from dashboard.web.context import actor, database, read, requires
from dashboard.web.formatting import person_zone
from dashboard.web.language import gettext

blueprint = Blueprint("reports", __name__)

MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])", re.ASCII)
EARLIEST, LATEST = 1971, 9000
OFFERED = 13


class Column(NamedTuple):
    """A column of counts: its words, the rows it counts, and the parameters of the list that shows them."""

    words: str
    which: Callable[[Group], bool]
    parameters: dict[str, Any]


@blueprint.get("/reports")
@requires(Permission.AUDIT_SCOPE)
def index() -> str:
    """Show the month."""
    month, span, report = _read()
    return render_template(
        "reports/index.html",
        report=report,
        month=month,
        months=_months(span),
        title=_month_name(month),
        columns=_columns(),
        people=report.by(lambda group: group.person),
        types=report.by(lambda group: group.type),
        actions=report.by(lambda group: group.action),
        counted=_counter(month),
        entries=_entries(month),
    )


@blueprint.get("/reports.csv")
@requires(Permission.AUDIT_SCOPE)
def table() -> Response:
    """Give the counts of the month as a table; that it was exported is an entry of the audit log."""
    month, _, report = _read()
    report_export.note(database(), actor=actor(), month=month)
    cells = io.StringIO()
    writer = csv.writer(cells)
    writer.writerow(("month", *Group._fields))
    writer.writerows([month, *map(guarded, group)] for group in report.groups)
    answer = Response(cells.getvalue(), mimetype="text/csv")
    answer.headers["Content-Disposition"] = f"attachment; filename=decisions-{month}.csv"
    return answer


def _read() -> tuple[str, Span, Report]:
    with read() as session:
        now = context.now()
        month = _month(request.args, now=now, zone=person_zone())
        span = Span(*_bounds(month, zone=person_zone()), now)
        return month, span, report_of(session, span, reader=actor())


def _month(args: Args, *, now: datetime, zone: ZoneInfo) -> str:
    """The month that the address names; this one where it names none."""
    asked = args.get("month", "").strip()
    if not asked:
        return f"{now.astimezone(zone):%Y-%m}"
    found = MONTH.fullmatch(asked)
    if found is None or not EARLIEST <= int(found[1]) <= LATEST:
        raise InvalidInputError((Problem("month", "month_invalid"),))
    return asked


def _bounds(month: str, *, zone: ZoneInfo) -> tuple[datetime, datetime]:
    first = datetime(int(month[:4]), int(month[5:]), 1, tzinfo=zone)
    return first, datetime.fromisoformat(_after(month) + "-01").replace(tzinfo=zone)


def _after(month: str) -> str:
    year, number = int(month[:4]), int(month[5:])
    return f"{year + 1}-01" if number == 12 else f"{year}-{number + 1:02}"  # noqa: PLR2004 - months of a year


def _months(span: Span) -> list[tuple[str, str]]:
    """This month and the twelve before it, and the one that is shown."""
    zone = person_zone()
    months, day = [], span.now.astimezone(zone).replace(day=1)
    for _ in range(OFFERED):
        months.append(f"{day:%Y-%m}")
        day = (day - timedelta(days=1)).replace(day=1)
    shown = f"{span.since:%Y-%m}"
    return [(month, _month_name(month)) for month in sorted({*months, shown}, reverse=True)]


def _month_name(month: str) -> str:
    return str(format_date(datetime.fromisoformat(month + "-01"), "MMMM y"))


def _columns() -> list[Column]:
    def outcome(value: str) -> Callable[[Group], bool]:
        return lambda group: group.outcome == value

    def state(value: str) -> Callable[[Group], bool]:
        return lambda group: group.state == value

    return [
        Column(gettext("Asked for"), lambda _group: True, {}),
        Column(gettext("Executed"), state("executed"), {"state": "executed"}),
        Column(gettext("Rejected"), state("rejected"), {"state": "rejected"}),
        Column(gettext("Overrides"), lambda group: group.override, {"reason_code": "override"}),
        Column(gettext("To verify"), outcome("to_verify"), {"outcome": "to_verify"}),
        Column(gettext("Verified"), outcome("verified"), {"outcome": "verified"}),
        Column(gettext("No effect"), outcome("no_effect"), {"outcome": "no_effect"}),
        Column(gettext("Duplicated"), outcome("duplicated"), {"outcome": "duplicated"}),
    ]


def _counter(month: str) -> Callable[..., str | None]:
    """Give the address of the actions that a figure counts; None for who may not open them."""
    asking = actor()
    if not holds(asking.grants, Permission.BROWSE):
        return lambda **_parameters: None
    fixed: dict[str, Any] = {"since": f"{month}-01", "until": f"{_after(month)}-01"}
    if scopes(asking.grants, Permission.BROWSE) != scopes(asking.grants, Permission.AUDIT_SCOPE):
        fixed["reviewed"] = 1
    return lambda **parameters: url_for("actions.index", **fixed, **parameters)


def _entries(month: str) -> Callable[..., str]:
    fixed: dict[str, Any] = {"since": f"{month}-01", "until": f"{_after(month)}-01", "outcome": "done"}
    return lambda **parameters: url_for("audit.index", **fixed, **parameters)
