"""Why an attempt failed, read from the exception that its request raised.

Classes are named, not imported, so that the clients of hosts need not be installed here: `requests.ReadTimeout` is
any class of that name in the package `requests`, and `builtins.TimeoutError` is the built-in. Base classes count. A
host adds rows with `CauseTable.extended`. What no row knows may have been sent: `sent_unknown`, which is looked up at
the destination and never repeated blindly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any

from dashboard.domain.states import Cause

# These prove that the effect did not start, so another attempt is safe.
UNSENT: frozenset[Cause] = frozenset({Cause.NOT_SENT, Cause.THROTTLED, Cause.LOCAL_CONFLICT})
LONGEST_WAIT = timedelta(hours=24)
MAX_DEPTH = 8
CLIENT_ERRORS = range(400, 500)
STATUSES = range(100, 600)
UNAVAILABLE = 503

# A wrapper says only that something went wrong with the connection; what it wraps says what.
INSIDE = "inside"

EXCEPTIONS: Mapping[str, Cause | str] = MappingProxyType(
    {
        # Standard library
        "builtins.ConnectionRefusedError": Cause.NOT_SENT,
        "socket.gaierror": Cause.NOT_SENT,
        "ssl.SSLCertVerificationError": Cause.NOT_SENT,
        "urllib.URLError": INSIDE,
        "smtplib.SMTPConnectError": Cause.NOT_SENT,
        "smtplib.SMTPSenderRefused": Cause.REJECTED,
        "smtplib.SMTPRecipientsRefused": Cause.REJECTED,
        # urllib3 and requests
        "urllib3.NewConnectionError": Cause.NOT_SENT,
        "urllib3.NameResolutionError": Cause.NOT_SENT,
        "urllib3.ConnectTimeoutError": Cause.NOT_SENT,
        "urllib3.MaxRetryError": INSIDE,
        "requests.ConnectTimeout": Cause.NOT_SENT,
        "requests.ReadTimeout": Cause.SENT_UNKNOWN,
        "requests.ConnectionError": INSIDE,
        "requests.InvalidURL": Cause.PERMANENT,
        "requests.InvalidSchema": Cause.PERMANENT,
        "requests.MissingSchema": Cause.PERMANENT,
        # httpx
        "httpx.ConnectError": Cause.NOT_SENT,
        "httpx.ConnectTimeout": Cause.NOT_SENT,
        "httpx.PoolTimeout": Cause.NOT_SENT,
        "httpx.UnsupportedProtocol": Cause.PERMANENT,
        # aiohttp, stripe
        "aiohttp.ClientConnectorError": Cause.NOT_SENT,
        "stripe.APIConnectionError": INSIDE,
    }
)

# A status that is missing here: other 4xx are `rejected`, all else is `sent_unknown`. 409 says that something of ours
# is there already or under way, which only a look can tell; a proxy may say 408 after the request went on.
STATUS_CAUSES: Mapping[int, Cause] = MappingProxyType(
    {408: Cause.SENT_UNKNOWN, 409: Cause.SENT_UNKNOWN, 425: Cause.THROTTLED, 429: Cause.THROTTLED}
)


@dataclass(frozen=True)
class Failure:
    """A classified failure: the cause, the destination's own `Retry-After` as it was sent, and what decided."""

    cause: Cause
    reason: str = ""
    rule: str = ""
    status: int | None = None
    retry_after: str | None = None


class AttemptFailedError(Exception):
    """A handler raises this to name the cause itself; `not_sent`, `throttled` and `local_conflict` are promises.

    They say that the effect did not start, and lead to another attempt.
    """

    def __init__(self, cause: Cause | str, reason: str = "", *, retry_after: str | None = None) -> None:
        self.failure = Failure(Cause(cause), reason, rule="handler", retry_after=retry_after)
        super().__init__(f"{self.failure.cause.value}: {reason}" if reason else self.failure.cause.value)


@dataclass(frozen=True)
class CauseTable:
    """Rows from exception classes and HTTP statuses to causes."""

    exceptions: Mapping[str, Cause | str] = field(default_factory=lambda: EXCEPTIONS)
    statuses: Mapping[int, Cause] = field(default_factory=lambda: STATUS_CAUSES)

    def extended(
        self, exceptions: Mapping[str, Cause | str] | None = None, statuses: Mapping[int, Cause] | None = None
    ) -> "CauseTable":
        """The same table with further rows, which win over the rows there are."""
        return replace(
            self,
            exceptions=MappingProxyType({**self.exceptions, **(exceptions or {})}),
            statuses=MappingProxyType({**self.statuses, **(statuses or {})}),
        )

    def classify(self, error: BaseException) -> Failure:
        """Name the cause of an error that the request itself raised."""
        if isinstance(error, AttemptFailedError):
            return error.failure
        return self._classify(error, MAX_DEPTH) or Failure(Cause.SENT_UNKNOWN, str(error), rule="unknown")

    def _classify(self, error: BaseException, depth: int) -> Failure | None:
        row, rule = self._row(error)
        if row not in (None, INSIDE):
            return Failure(Cause(row), str(error), rule, retry_after=_header(error, "retry-after"))
        status = _status(error)
        if status is not None:
            return self._by_status(error, status)
        wrapped = _wrapped(error) if row == INSIDE and depth else None
        return self._classify(wrapped, depth - 1) if wrapped else None

    def _row(self, error: BaseException) -> tuple[Cause | str | None, str]:
        for kind in type(error).__mro__:
            for name in _names(kind):
                if name in self.exceptions:
                    return self.exceptions[name], name
        return None, ""

    def _by_status(self, error: BaseException, status: int) -> Failure:
        retry_after = _header(error, "retry-after")
        cause = self.statuses.get(status)
        if cause is None and status == UNAVAILABLE and retry_after:
            cause = Cause.THROTTLED
        if cause is None:
            cause = Cause.REJECTED if status in CLIENT_ERRORS else Cause.SENT_UNKNOWN
        return Failure(cause, str(error), rule=f"status {status}", status=status, retry_after=retry_after)


def wait_of(retry_after: str | None, *, now: datetime) -> timedelta | None:
    """How long `Retry-After` asks to wait, at most a day; None where it says nothing that can be read (RFC 9110)."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return min(timedelta(seconds=int(text[:9])), LONGEST_WAIT)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    at = at.replace(tzinfo=at.tzinfo or UTC)
    return min(max(at - now, timedelta()), LONGEST_WAIT)


def _names(kind: type) -> Iterator[str]:
    """The full name of a class, and the short one of its package, which survives a move between modules."""
    yield f"{kind.__module__}.{kind.__qualname__}"
    yield f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


def _wrapped(error: BaseException) -> BaseException | None:
    """The first error found inside; a second one may belong to something else."""
    inside = (getattr(error, "reason", None), *error.args, error.__cause__, error.__context__)
    return next((found for found in inside if isinstance(found, BaseException)), None)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for found in (
        getattr(response, "status_code", None),
        getattr(error, "http_status", None),
        getattr(error, "status_code", None),
        getattr(error, "status", None),
    ):
        if isinstance(found, int) and not isinstance(found, bool) and found in STATUSES:
            return found
    return None


def _header(error: BaseException, name: str) -> str | None:
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    if not hasattr(headers, "items"):
        return None
    found = (str(value) for key, value in headers.items() if str(key).lower() == name)
    return next(found, None)
