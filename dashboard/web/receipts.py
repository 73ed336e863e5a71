"""`POST /evidence/<destination>`: signed acknowledgements of outside systems.

There is no session and no form: the signature is what lets a message in. Answers are JSON, errors
`application/problem+json` (RFC 9457) with a stable `code`.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus

from flask import Blueprint, Response, current_app, request
from sqlalchemy.exc import InterfaceError, OperationalError
from werkzeug.exceptions import RequestEntityTooLarge

from dashboard.domain.received import Match
from dashboard.services.receipts import Message, ReceiptRefusedError, take_receipt
from dashboard.web.context import database, policies, public, request_id
from dashboard.web.wording import in_words

blueprint = Blueprint("receipts", __name__)

MAX_BODY = 1024 * 1024
STATUS = {
    "receipts_unconfigured": HTTPStatus.NOT_FOUND,
    "receipts_secret_unset": HTTPStatus.SERVICE_UNAVAILABLE,
    "receipt_unreadable": HTTPStatus.UNPROCESSABLE_ENTITY,
}


@blueprint.post("/evidence/<destination>")
@public
def take(destination: str) -> Response:
    """Take one message: 200 where its operation is known or it came before, 202 where it is kept unmatched."""
    request.max_content_length = MAX_BODY
    message = Message(
        destination,
        headers={name.lower(): value for name, value in request.headers.items()},
        body=request.get_data(cache=False),
        address=request.remote_addr,
        request_id=request_id(),
    )
    taken = take_receipt(database(), message, policies=policies())
    settled = taken.match is Match.MATCHED or not taken.new
    told = {"event_id": taken.event_id, "match": taken.match.value, "new": taken.new}
    return _json(told, HTTPStatus.OK if settled else HTTPStatus.ACCEPTED)


@blueprint.errorhandler(ReceiptRefusedError)
def refused(error: ReceiptRefusedError) -> Response:
    """Say why a message is not taken."""
    status = STATUS.get(error.code, HTTPStatus.UNAUTHORIZED)
    return _problem(status, error.code, in_words(error), **error.details)


@blueprint.errorhandler(RequestEntityTooLarge)
def too_large(_error: RequestEntityTooLarge) -> Response:
    """Refuse what is larger than any acknowledgement."""
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    return _problem(status, "too_large", f"At most {MAX_BODY} bytes are taken.")


@blueprint.errorhandler(OperationalError)
@blueprint.errorhandler(InterfaceError)
def no_database(error: Exception) -> Response:
    """Ask the sender to come again, which every sender of webhooks does."""
    current_app.logger.error("the database failed, request %s", request_id(), exc_info=error)
    return _problem(HTTPStatus.SERVICE_UNAVAILABLE, "database_unavailable", "Try again later.")


def _problem(status: HTTPStatus, code: str, detail: str, **details: object) -> Response:
    told = {"type": "about:blank", "title": status.phrase, "status": status.value, "code": code, "detail": detail}
    answer = _json({**told, **details, "request_id": request_id()}, status)
    answer.mimetype = "application/problem+json"
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        answer.headers["Retry-After"] = "60"
    return answer


def _json(told: Mapping[str, object], status: HTTPStatus) -> Response:
    return Response(json.dumps(told, ensure_ascii=False) + "\n", status.value, mimetype="application/json")
