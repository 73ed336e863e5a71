"""Answers for load balancers: whether the process is there, and whether it can work. No details for strangers."""

from functools import cache

from flask import Blueprint, Response, current_app
from sqlalchemy.exc import SQLAlchemyError

from dashboard.services import schema
from dashboard.web.context import database, public

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
@public
def alive() -> Response:
    """Answer while the process runs."""
    return Response("ok\n", mimetype="text/plain")


@blueprint.get("/readyz")
@public
def ready() -> Response:
    """Answer 200 while the database is there and has the schema of this release, else 503."""
    try:
        at_head = schema.current(database()) == _head()
    except SQLAlchemyError:
        current_app.logger.warning("the database cannot be reached", exc_info=True)
        at_head = False
    return Response("ready\n" if at_head else "not ready\n", 200 if at_head else 503, mimetype="text/plain")


@cache
def _head() -> str:
    return schema.head()
