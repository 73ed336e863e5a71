"""Error pages: what happened, whether anything was saved, and the id of the request."""

from flask import Flask, current_app, render_template, request
from flask.typing import ResponseReturnValue
from flask_babel import LazyString
from flask_wtf.csrf import CSRFError
from sqlalchemy.exc import InterfaceError, OperationalError, StatementError
from werkzeug.exceptions import HTTPException

from dashboard.domain.errors import (
    InvalidInputError,
    OperationsError,
)
from dashboard.edge.filters import url_with
from dashboard.edge.statuses import status_of
from dashboard.web import kept
from dashboard.web.context import person, request_id
from dashboard.web.language import gettext, lazy_gettext
from dashboard.web.login import resume_page, sign_in_page
from dashboard.web.navigation import home
from dashboard.web.wording import in_words

TITLES: dict[int, LazyString] = {
    400: lazy_gettext("This request cannot be read"),
    403: lazy_gettext("Not allowed"),
    404: lazy_gettext("Not found"),
    405: lazy_gettext("Not possible here"),
    409: lazy_gettext("Changed meanwhile"),
    413: lazy_gettext("Too much text"),
    422: lazy_gettext("Some fields need another look"),
    429: lazy_gettext("Too many requests"),
    500: lazy_gettext("Something went wrong on our side"),
    503: lazy_gettext("The database does not answer"),
}
TEXTS: dict[int, LazyString] = {
    404: lazy_gettext("There is nothing at this address, or not for you."),
    405: lazy_gettext("This address does not take this kind of request."),
    413: lazy_gettext("The form is larger than this page takes. Shorten the text and send it again."),
    500: lazy_gettext("The fault was written to the log. Quote the request id when you report it."),
    503: lazy_gettext("Try again in a moment."),
}


def install(app: Flask) -> None:
    """Answer every error with a page of ours."""
    app.register_error_handler(CSRFError, _no_token)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(OperationsError, _refused)
    app.register_error_handler(OperationalError, _no_database)
    app.register_error_handler(InterfaceError, _no_database)
    app.register_error_handler(StatementError, _bad_statement)
    app.register_error_handler(Exception, _fault)


def error_page(status: int, *, text: str = "", saved: str | None = None) -> tuple[str, int]:
    """Show an error page; `saved` says what became of a request that wanted to change something."""
    writes = request.method not in {"GET", "HEAD"}
    page = render_template(
        "errors/error.html",
        layout="layout/page.html" if person() else "layout/bare.html",
        status=status,
        title=TITLES.get(status, TITLES[400]),
        text=text or TEXTS.get(status, ""),
        saved=(saved or gettext("Nothing was saved.")) if writes else "",
        home=home() if person() else "",
    )
    return page, status


def _no_token(_error: CSRFError) -> ResponseReturnValue:
    if request.endpoint == "login.submit":
        problem = gettext("This page had been open for too long. Sign in again.")
        return sign_in_page(kept.from_sign_in(), status=400, problem=problem)
    if person() is None:
        return error_page(400, text=gettext("The form did not come from a page of this session."))
    wanted = kept.from_form()
    if not wanted.fields:
        return error_page(400, text=gettext("The form did not come from a page of this session. Open the page again."))
    return resume_page(wanted, title=gettext("This form had expired"), status=400)


def _http(error: HTTPException) -> ResponseReturnValue:
    status = error.code or 500
    if status < 400:  # noqa: PLR2004 - a redirect is no error
        return error
    kept_headers = {name: value for name, value in error.get_headers() if name in {"Allow", "Retry-After"}}
    return (*error_page(status), kept_headers)


def _refused(error: OperationsError) -> ResponseReturnValue:
    if isinstance(error, InvalidInputError) and all(problem.field in request.args for problem in error.problems):
        return _bad_address(error)
    return error_page(status_of(error), text=in_words(error))


def _bad_address(error: InvalidInputError) -> ResponseReturnValue:
    """Name the parameters that cannot be read, with the address that lacks them."""
    without = url_with(**{problem.field: None for problem in error.problems})
    return render_template("errors/address.html", title=TITLES[400], problems=error.problems, without=without), 400


def _no_database(error: Exception) -> ResponseReturnValue:
    current_app.logger.error("the database failed, request %s", request_id(), exc_info=error)
    return error_page(503, saved=_unsure())


def _bad_statement(error: StatementError) -> ResponseReturnValue:
    # Our column types refuse text that not every engine can store, such as a NUL in an address.
    if isinstance(error.orig, ValueError):
        return error_page(400, text=gettext("This text cannot be stored or searched for."))
    return _fault(error)


def _fault(error: Exception) -> ResponseReturnValue:
    current_app.logger.error("a request failed, request %s", request_id(), exc_info=error)
    return error_page(500, saved=_unsure())


def _unsure() -> str:
    return gettext("Open the page again to see whether your change was saved.")
