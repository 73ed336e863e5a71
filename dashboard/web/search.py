"""The one search box: an id that names exactly one thing lands on it, anything else becomes a filter of the list."""

from urllib.parse import quote

from flask import Blueprint, redirect, request
from flask.typing import ResponseReturnValue

from dashboard.domain.permissions import Permission, scopes
from dashboard.edge.filters import parse_text
from dashboard.queries import identity
from dashboard.web.context import actor, read, requires
from dashboard.web.operation_filters import listed

blueprint = Blueprint("search", __name__)


@blueprint.get("/search")
@requires(Permission.BROWSE)
def search() -> ResponseReturnValue:
    """Go to the operation or the idempotency record that the text names, or list what begins with it."""
    text = parse_text(request.args, "q")
    return redirect(_place(text) if text else listed())


def _place(text: str) -> str:
    visible = scopes(actor().grants, Permission.BROWSE)
    with read() as session:
        found = identity.landing(session, text, scopes=visible)
        if len(found) == 1:
            return f"{listed()}/{quote(found[0])}"
        record = None if found else identity.landing_record(session, text, scopes=visible)
    return listed(q=text) if record is None else f"{request.script_root}/idempotency/{record}"
