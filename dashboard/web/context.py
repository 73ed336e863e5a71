"""What a view of a screen works with: the database, who asks, and the mark that says who may open it.

    @blueprint.get("/operations")
    @requires(Permission.BROWSE)
    def show() -> str:
        with read() as session:
            page = list_operations(session, actor=actor(), ...)
        return render_template("operations/list.html", page=page)

The mark is checked before the view runs; services authorise once more, for the very operation.
"""

from datetime import datetime

from flask import g, request

from dashboard.edge.context import (
    PUBLIC,
    View,
    access_of,
    actor,
    database,
    marked,
    policies,
    public,
    read,
    request_id,
    requires,
    settings,
    write,
)
from dashboard.services.users import Person

__all__ = [
    "PUBLIC",
    "SIGNED_IN",
    "access_of",
    "actor",
    "database",
    "known_person",
    "let_in_at",
    "now",
    "person",
    "policies",
    "public",
    "read",
    "request_id",
    "requires",
    "settings",
    "signed_in",
    "wants_part",
    "write",
]

SIGNED_IN = "signed_in"


def person() -> Person | None:
    """Give the person who is signed in, or None."""
    found: Person | None = g.get("person")
    return found


def known_person() -> Person:
    """Give the person who is signed in; only behind `requires` or `signed_in`."""
    found: Person = g.person
    return found


def let_in_at() -> datetime | None:
    """Give the database's time at which this request was let in with a session; None where it was not."""
    found: datetime | None = g.get("let_in_at")
    return found


def now() -> datetime:
    """Give the database's time of this request, for what a page says of the present; only behind a mark."""
    found: datetime = g.let_in_at
    return found


def wants_part() -> bool:
    """Tell whether htmx asks, which takes a part out of the page."""
    return request.headers.get("HX-Request") == "true"


def signed_in(view: View) -> View:
    """Mark a view: for everybody who is signed in."""
    return marked(view, SIGNED_IN)
