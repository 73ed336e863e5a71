"""Ask over HTTP: one GET below the destination's address, JSON back.

Settings: `path` with placeholders, `items`, `match`, `remote_id`, `as_of`, `partial`, `cancelled` and `superseded`
(JMESPath), `authoritative`, and `missing_status`: the statuses that mean "there is none" (none, unless the policy
names them: a wrong path answers 404 as well).
"""

import hashlib
import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn
from urllib.parse import quote

import httpx

from dashboard.adapters.expressions import ExactNumber
from dashboard.adapters.outward import CredentialsError, credentials, only_public, trusted_certificates
from dashboard.adapters.probes.reading import read_answer
from dashboard.domain.answers import Answer, Question, failure
from dashboard.domain.policy import Auth, Destination, ProbeRule

MAX_BYTES = 1_000_000
CLOCKS_AGREE_WITHIN = timedelta(seconds=2)
LONGEST_RETRY_AFTER = timedelta(hours=24)
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_REDIRECTS = range(300, 400)
_SERVER_ERRORS = range(500, 600)
_THROTTLED = (429, 503)
_UNAUTHORISED = (401, 403, 407)


class _RefusedError(Exception):
    """The question cannot be asked, or the answer not taken, for this reason."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.answer = failure(code, detail)


def probe(rule: ProbeRule, destination: Destination, question: Question) -> Answer:
    """Ask the destination; whatever goes wrong is an answer that failed."""
    try:
        url = address_of(destination, str(rule.settings.get("path", "")), question.in_path())
        response, body = _get(destination, url)
        return _read(rule, question, response, body)
    except _RefusedError as refused:
        return refused.answer
    except httpx.TimeoutException:
        return failure("timed_out", f"No answer within {destination.timeout.total_seconds():g} seconds.")
    except httpx.TransportError as error:
        return _unreachable(error)
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
        return failure("answer_unreadable", type(error).__name__)


def address_of(destination: Destination, path: str, values: Mapping[str, str | None]) -> str:
    """The whole address; placeholders are percent-encoded, and one that is unknown or climbs is refused."""
    if not destination.base_url:
        raise _RefusedError("address_missing", "The policy names no base_url for this destination.")

    def filled(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if not value:
            raise _RefusedError("placeholder_unknown", f"The operation has no {match[1]}.")
        if value in {".", ".."}:
            raise _RefusedError("placeholder_refused", f"The {match[1]} would change the path.")
        return quote(value, safe="")

    return destination.base_url.rstrip("/") + _PLACEHOLDER.sub(filled, path)


def _get(destination: Destination, url: str) -> tuple[httpx.Response, bytes]:
    seconds = destination.timeout.total_seconds()
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Cache-Control": "no-cache"}
    headers |= _credentials(destination.auth)
    extensions = {} if destination.allow_private else only_public(_private)
    # No proxy of the environment: the address that is checked must be the one that is asked.
    with (
        httpx.Client(verify=trusted_certificates(), timeout=seconds, trust_env=False, follow_redirects=False) as client,
        client.stream("GET", url, headers=headers, extensions=extensions) as response,
    ):
        return response, _body(response, until=time.monotonic() + seconds)


def _body(response: httpx.Response, *, until: float) -> bytes:
    """The body, unless it is too large, packed, or comes too slowly."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise _RefusedError("answer_packed", "The answer is compressed although that was not asked for.")
    body = bytearray()
    for part in response.iter_raw():
        body += part
        if len(body) > MAX_BYTES:
            raise _RefusedError("answer_too_large", f"The answer has more than {MAX_BYTES:,} bytes.")
        if time.monotonic() > until:
            raise _RefusedError("timed_out", "The answer did not end in time.")
    return bytes(body)


def _credentials(auth: Auth | None) -> dict[str, str]:
    try:
        return credentials(auth)
    except CredentialsError as error:
        raise _RefusedError(error.code, error.reason) from error


def _private() -> _RefusedError:
    return _RefusedError("address_private", "The address is a private one, and the policy does not allow that.")


def _read(rule: ProbeRule, question: Question, response: httpx.Response, body: bytes) -> Answer:
    status, raw_hash = response.status_code, hashlib.sha256(body).hexdigest()
    viewed_at = question.now - _seconds(response.headers.get("Age"))
    missing = rule.settings.get("missing_status")
    if isinstance(missing, tuple | list) and status in missing:
        authoritative = rule.settings.get("authoritative") is not False
        return Answer(as_of=viewed_at, authoritative=authoritative, raw_hash=raw_hash, status=status)
    if status != httpx.codes.OK:
        return _refused_status(response)
    document = _document(response, body)
    ahead = _clock_ahead(response, question)
    return read_answer(
        rule, question, document, viewed_at=viewed_at, raw_hash=raw_hash, status=status, remote_ahead=ahead
    )


def _refused_status(response: httpx.Response) -> Answer:
    status = response.status_code
    after = min(_seconds(response.headers.get("Retry-After")), LONGEST_RETRY_AFTER)
    if status in _REDIRECTS:
        return failure("redirected", "The destination sends elsewhere; that is not followed.", status=status)
    if status in _THROTTLED:
        return failure("throttled", f"It answered {status}.", status=status, retry_after=after or None)
    if status in _UNAUTHORISED:
        return failure("unauthorised", f"It answered {status}: check its credentials.", status=status)
    code = "server_error" if status in _SERVER_ERRORS else "status_unexpected"
    return failure(code, f"It answered {status}.", status=status)


def _document(response: httpx.Response, body: bytes) -> Any:
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise _RefusedError("not_json", f"The answer is {kind[:60] or 'of no named type'}, not JSON.")
    try:
        return json.loads(body, parse_float=ExactNumber, parse_constant=_no_constant)
    except (ValueError, RecursionError, ArithmeticError) as error:
        raise _RefusedError("not_json", "The answer says it is JSON and is not.") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _seconds(text: str | None) -> timedelta:
    whole = re.fullmatch(r"\s*([0-9]{1,8})\s*", text or "")
    return timedelta(seconds=int(whole[1])) if whole else timedelta(0)


def _clock_ahead(response: httpx.Response, question: Question) -> timedelta:
    """By how much the destination's clock runs before ours; a clock behind ours only makes us wait longer."""
    try:
        date = parsedate_to_datetime(response.headers.get("Date", ""))
    except ValueError:
        return timedelta(0)
    ahead = (date if date.tzinfo else date.replace(tzinfo=UTC)) - (question.now + response.elapsed)
    return ahead if ahead > CLOCKS_AGREE_WITHIN else timedelta(0)


def _unreachable(error: httpx.TransportError) -> Answer:
    words = str(error)
    if "CERTIFICATE" in words.upper() or "SSL" in words.upper() or "TLS" in words.upper():
        return failure("tls_failed", "The connection could not be secured.")
    return failure("unreachable", f"The destination could not be asked ({type(error).__name__}).")
