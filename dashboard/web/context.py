"""What a view works with: the database, who asks, and the mark that says who may open it.

    @blueprint.get("/operations")
    @requires(Permission.BROWSE)
    def show() -> str:
        with read() as session:
            page = list_operations(session, actor=actor(), ...)
        return render_template("operations/list.html", page=page)

The mark is checked before the view runs; services authorise once more, for the very operation.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from flask import current_app, g, request
from sqlalchemy.orm import Session

from dashboard.config import Settings
from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Actor, Permission
from dashboard.services.policies import Policies
from dashboard.services.users import Person

T = TypeVar("T")
View = TypeVar("View", bound=Callable[..., Any])

PUBLIC = "public"
SIGNED_IN = "signed_in"


def database() -> Database:
    """Give the database of this application."""
    found: Database = current_app.extensions["dashboard.database"]
    return found


def settings() -> Settings:
    """Give the settings the application was made with."""
    found: Settings = current_app.extensions["dashboard.settings"]
    return found


def policies() -> Policies:
    """Give the policies in force."""
    found: Policies = current_app.extensions["dashboard.policies"]
    return found


def read() -> AbstractContextManager[Session]:
    """Open a session for reading."""
    return reading(database())


def write(unit: Callable[[Session], T]) -> T:
    """Run a unit of work in one transaction and give what it gives."""
    return transact(database(), unit)


def actor() -> Actor:
    """Give who asks, with grants, address and request id; only behind `requires` or `signed_in`."""
    found: Actor = g.actor
    return found


def person() -> Person | None:
    """Give the person who is signed in, or None."""
    found: Person | None = g.get("person")
    return found


def known_person() -> Person:
    """Give the person who is signed in; only behind `requires` or `signed_in`."""
    found: Person = g.person
    return found


def request_id() -> str | None:
    """Give the id of this request, as logs, audit entries and error pages name it."""
    found: str | None = g.get("request_id")
    return found


def wants_part() -> bool:
    """Tell whether htmx asks, which takes a part out of the page."""
    return request.headers.get("HX-Request") == "true"


def requires(permission: Permission) -> Callable[[View], View]:
    """Mark a view: only for people who hold the permission somewhere."""
    return lambda view: _marked(view, permission)


def signed_in(view: View) -> View:
    """Mark a view: for everybody who is signed in."""
    return _marked(view, SIGNED_IN)


def public(view: View) -> View:
    """Mark a view: for everybody, signed in or not."""
    return _marked(view, PUBLIC)


def access_of(view: Callable[..., Any]) -> Permission | str | None:
    """Give the mark of a view: a permission, SIGNED_IN, PUBLIC, or None where it was forgotten."""
    found: Permission | str | None = getattr(view, "access", None)
    return found


def _marked(view: View, access: Permission | str) -> View:
    view.access = access  # type: ignore[attr-defined]
    return view
