"""Trends: what history says by day and type, each number beside the rows it counts."""

from functools import partial

from flask import Blueprint, render_template, request, url_for

from dashboard.domain.permissions import Permission, scopes
from dashboard.web import context
from dashboard.web.context import actor, read, requires
from dashboard.web.history import asked_of, history, looks, shown, type_rows

blueprint = Blueprint("trends", __name__)

MOST_TYPES = 20


@blueprint.get("/trends")
@requires(Permission.BROWSE)
def index() -> str:
    """Show the last days."""
    visible_to = scopes(actor().grants, Permission.BROWSE)
    with read() as session:
        asked = asked_of(request.args, now=context.now())
        found = history(session, asked, visible_to)
    rows = type_rows(found)
    return render_template(
        "trends/index.html",
        **shown(asked, found),
        looks=looks(asked, partial(url_for, ".index", **asked.narrowed)),
        types=rows[:MOST_TYPES],
        all_types=len(rows),
    )
