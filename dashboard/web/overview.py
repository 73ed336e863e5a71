"""The overview: what needs people now, how old open work is, and what the last month says."""

from flask import Blueprint, render_template

from dashboard.domain.ages import windows_of
from dashboard.domain.facts import Fact
from dashboard.domain.permissions import Permission, holds, scopes
from dashboard.edge.operation_filters import VERDICTS
from dashboard.queries import figures
from dashboard.queries.operations import has_any
from dashboard.web import context
from dashboard.web.context import actor, policies, read, signed_in
from dashboard.web.history import Asked, columns, divergence, highest, outline, ticks_of
from dashboard.web.operation_filters import listed
from dashboard.web.types import of_work

blueprint = Blueprint("overview", __name__)

MOST_TYPES = 12
RARE = (Fact.PROBE_FAILED, Fact.CONTRADICTED, Fact.REOPENED)


@blueprint.get("/")
@signed_in
def show() -> str:
    """Show the figures; a person without a role for operations sees what they can open instead."""
    asking = actor()
    if not holds(asking.grants, Permission.BROWSE):
        return render_template("overview/no_operations.html", may_audit=holds(asking.grants, Permission.AUDIT_OWN))
    visible = scopes(asking.grants, Permission.BROWSE)
    with read() as session:
        now = context.now()
        found = figures.overview(session, scopes=visible, windows=windows_of(policies()), now=now, shown=MOST_TYPES)
        anything = bool(found.types) or has_any(session, scopes=visible)
    month = Asked(str(figures.DIVERGENCE_DAYS), None, None, found.period)
    verdicts, retries = found.month[Fact.VERDICT], found.month[Fact.RETRY]
    return render_template(
        "overview/show.html",
        **of_work(found),
        seen_at=now,
        listed=listed,
        overview=found,
        anything=anything,
        types=found.types[:MOST_TYPES],
        confirmed_days=figures.CONFIRMED_DAYS,
        verdicts=list(VERDICTS),
        month=month,
        rare=[(fact, found.month[fact], outline(month, found.month[fact])) for fact in RARE],
        divergence=divergence(month, verdicts),
        retries=columns(month, Fact.RETRY, retries),
        retried=retries,
        most={Fact.VERDICT: highest(verdicts), Fact.RETRY: highest(retries)},
        ticks=ticks_of(found.period),
        fact=Fact,
    )
