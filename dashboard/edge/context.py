"""What a view works with: the database, who asks, and the mark that says who may use it.

The mark is checked before the view runs; services authorise once more, for the very operation.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from flask import Flask, current_app, g
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dashboard.config import Settings
from dashboard.db import Database, browsing, transact
from dashboard.domain.permissions import Actor, Permission
from dashboard.services.policies import Policies

T = TypeVar("T")
View = TypeVar("View", bound=Callable[..., Any])

PUBLIC = "public"


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


@contextmanager
def read() -> Iterator[Session]:
    """Open a session for reading, on the one connection that the request keeps for it."""
    if "connection" not in g:
        g.connection = database().pages.connect()
    try:
        with browsing(g.connection) as session:
            yield session
    except DBAPIError:
        give_back()  # it may be broken, and the page that says so reads as well
        raise


def give_back(_error: BaseException | None = None) -> None:
    """Give back the connection that the request read by."""
    connection: Connection | None = g.pop("connection", None)
    if connection is not None:
        connection.close()


def write(unit: Callable[[Session], T]) -> T:
    """Run a unit of work in one transaction and give what it gives."""
    return transact(database(), unit)


def actor() -> Actor:
    """Give who asks, with grants, address and request id; only behind a mark that is not public."""
    found: Actor = g.actor
    return found


def request_id() -> str | None:
    """Give the id of this request, as logs, audit entries and error pages name it."""
    found: str | None = g.get("request_id")
    return found


def requires(permission: Permission) -> Callable[[View], View]:
    """Mark a view: only for who holds the permission somewhere."""
    return lambda view: marked(view, permission)


def public(view: View) -> View:
    """Mark a view: for everybody, signed in or not."""
    return marked(view, PUBLIC)


def marked(view: View, access: Permission | str) -> View:
    """Write on a view who may use it."""
    view.access = access  # type: ignore[attr-defined]
    return view


def access_of(view: Callable[..., Any]) -> Permission | str | None:
    """Give the mark of a view: a permission, another mark, PUBLIC, or None where it was forgotten."""
    found: Permission | str | None = getattr(view, "access", None)
    return found


def refuse_unmarked(app: Flask) -> None:
    """Stop the start if a view says nothing about who may use it."""
    unmarked = sorted(name for name, view in app.view_functions.items() if access_of(view) is None)
    if unmarked:
        raise RuntimeError(f"mark these views, such as with requires or public: {', '.join(unmarked)}")
