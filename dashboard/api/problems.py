"""Every refusal as `application/problem+json` (RFC 9457) with a stable `code` and the id of the request."""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, current_app, request
from sqlalchemy.exc import InterfaceError, OperationalError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from werkzeug.exceptions import HTTPException

from dashboard.domain.errors import InvalidInputError, OperationsError, Problem
from dashboard.edge.context import request_id
from dashboard.edge.statuses import status_of
from dashboard.idempotency.answers import TITLES
from dashboard.services.audit_export import ExportRefusedError
from dashboard.services.tokens import TokenRefusedError

MEDIA_TYPE = "application/problem+json"
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="operations", error="invalid_token"'}
# These fit the schema of the parameter, and yet cannot be answered.
BEYOND_SCHEMA = frozenset({"cursor_invalid", "cursor_twice", "sort_open_only", "text_unsearchable"})
TOLD = frozenset({"fields", "permission", "state"})
STATUS = {"export_too_often": 429}
CODES = {
    400: "request_unreadable",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    415: "media_type_unsupported",
    429: "too_many_requests",
    500: "fault",
    503: "database_away",
}
WORDS = {
    "request_unreadable": "The request cannot be read.",
    "token_missing": "Send a token: Authorization: Bearer ops_...",
    "schema_broken": "The request does not fit the schema; `errors` names each field.",
    "parameter_unknown": "There is no such parameter.",
    "parameter_empty": "Leave the parameter out instead of sending it empty.",
    "parameter_twice": "The parameter may come only once.",
    "parameter_missing": "The parameter is missing.",
    "not_found": "There is nothing at this address, or not for you.",
    "method_not_allowed": "This address does not take this method; see the header Allow.",
    "body_too_large": "The body is larger than 2 MiB.",
    "media_type_unsupported": "Send the body as application/json.",
    "too_many_requests": "Too many requests; try again later.",
    "fault": "Something went wrong on our side; quote the request id when you report it.",
    "database_away": "The database does not answer, so it is not known whether this was done: send it again.",
    "text_unstorable": "A text holds characters that cannot be stored.",
    "number_lost": "The number cannot be kept exactly: write it as text in quotes.",
    "operation_reserved": "Names that begin with api: belong to this API.",
    "operation_id_taken": "The id stands for another operation already.",
    "answer_too_large": "The answer is larger than 1 MiB.",
    "base64_invalid": "This is not base64.",
    "one_of": "Give exactly one of these fields.",
}


class SchemaError(InvalidInputError):
    """The request does not fit the published schema, which a caller could have seen beforehand."""

    default_code = "schema_broken"


class TokenMissingError(OperationsError):
    """The request came without a bearer token."""

    default_code = "token_missing"


def install(app: Flask) -> None:
    """Answer every error with a problem."""
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(OperationsError, refused)
    for away in (OperationalError, InterfaceError, PoolTimeoutError):
        app.register_error_handler(away, _no_database)
    app.register_error_handler(StatementError, _bad_statement)
    app.register_error_handler(Exception, _fault)


def problem(
    status: int,
    code: str,
    *,
    detail: str | None = None,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Response:
    """Make a problem; `more` are members of its own."""
    said = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail or WORDS.get(code, ""),
        "request_id": request_id(),
        **(more or {}),
    }
    body = json.dumps(said, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")
    return Response(body, status, headers=dict(headers or {}), content_type=MEDIA_TYPE)


def refused(error: OperationsError) -> Response:
    """Answer what a service or the gate refused."""
    if isinstance(error, TokenRefusedError | TokenMissingError):
        return problem(401, error.code, detail=in_words(error), headers=CHALLENGE)
    if isinstance(error, InvalidInputError):
        return _invalid(error)
    status = STATUS.get(error.code) or (422 if isinstance(error, ExportRefusedError) else status_of(error))
    named = {name: told for name, told in error.details.items() if name in TOLD}
    return problem(status, error.code, detail=in_words(error), more=named)


def in_words(problem: OperationsError | Problem) -> str:
    """Say what is wrong, in English; words of the API's own come first."""
    own = problem.details.get("message") or WORDS.get(problem.code) or TITLES.get(problem.code)
    if own:
        return str(own)
    words: Callable[[OperationsError | Problem], str] = current_app.extensions["dashboard.words"]
    return words(problem)


def _invalid(error: InvalidInputError) -> Response:
    errors = [{"field": each.field, "code": each.code, "detail": in_words(each)} for each in error.problems]
    in_address = all(each.field in request.args for each in error.problems)
    beyond = any(each.code in BEYOND_SCHEMA for each in error.problems)
    broken = isinstance(error, SchemaError) or (in_address and not beyond)
    code = error.problems[0].code if len(errors) == 1 else "schema_broken" if broken else error.code
    return problem(400 if broken else 422, code, detail=errors[0]["detail"], more={"errors": errors})


def _http(error: HTTPException) -> Response:
    status = error.code or 500
    kept = {name: value for name, value in error.get_headers() if name in {"Allow", "Retry-After"}}
    return problem(status, CODES.get(status, "request_unreadable"), headers=kept)


def _no_database(error: Exception) -> Response:
    current_app.logger.error("the database failed, request %s", request_id(), exc_info=error)
    return problem(503, "database_away", headers={"Retry-After": "5"})


def _bad_statement(error: StatementError) -> Response:
    # Our column types refuse text that not every engine can store.
    if isinstance(error.orig, ValueError):
        return problem(422, "text_unstorable")
    return _fault(error)


def _fault(error: Exception) -> Response:
    current_app.logger.error("fault in request %s", request_id(), exc_info=error)
    return problem(500, "fault")
