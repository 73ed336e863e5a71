"""The overview: what needs people now, how old open work is, and what the last verdicts say."""

from flask import Blueprint, render_template, url_for

from dashboard.db import clock
from dashboard.domain.ages import AGE_BUCKETS
from dashboard.domain.permissions import Permission, holds, scopes
from dashboard.edge.operation_filters import OPEN_STATES, VERDICTS
from dashboard.queries import figures
from dashboard.queries.operations import has_any
from dashboard.web.context import actor, read, signed_in
from dashboard.web.operation_filters import listed, of_age

blueprint = Blueprint("overview", __name__)


@blueprint.get("/")
@signed_in
def show() -> str:
    """Show the figures; a person without a role for operations sees what they can open instead."""
    asking = actor()
    if not holds(asking.grants, Permission.BROWSE):
        return render_template("overview/no_operations.html", may_audit=holds(asking.grants, Permission.AUDIT_OWN))
    visible = scopes(asking.grants, Permission.BROWSE)
    with read() as session:
        found = figures.overview(session, scopes=visible, now=clock(session))
        anything = bool(found.types) or has_any(session, scopes=visible)
    return render_template(
        "overview/show.html",
        overview=found,
        anything=anything,
        confirmed_days=figures.CONFIRMED_DAYS,
        listed=listed,
        exceptions_url=url_for("operation_lists.exceptions"),
        open_states=list(OPEN_STATES),
        verdicts=list(VERDICTS),
        buckets=[(bucket.name, of_age(bucket)) for bucket in AGE_BUCKETS],
    )
