import socket
import urllib.error
from datetime import UTC, datetime, timedelta
from email.message import Message
from typing import Any

import httpx
import pytest

from dashboard.domain.causes import AttemptFailedError, CauseTable, Failure, wait_of
from dashboard.domain.states import Cause

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
REQUEST = httpx.Request("POST", "http://127.0.0.1/charges")


def made(package: str, name: str, *bases: type, **attributes: Any) -> Any:
    """An exception class of a library that is not installed here."""
    return type(name, bases or (Exception,), {"__module__": f"{package}.exceptions", **attributes})


def status(code: int, **headers: str) -> httpx.HTTPStatusError:
    response = httpx.Response(code, headers=headers, request=REQUEST)
    return httpx.HTTPStatusError(f"status {code}", request=REQUEST, response=response)


NewConnectionError = made("urllib3", "NewConnectionError")
ProtocolError = made("urllib3", "ProtocolError")
MaxRetryError = made("urllib3", "MaxRetryError")
RequestsConnectionError = made("requests", "ConnectionError", OSError)
APIConnectionError = made("stripe", "APIConnectionError", http_status=None)
CardError = made("stripe", "CardError", http_status=402)


def wrapping(outer: type[BaseException], inner: BaseException, **attributes: Any) -> BaseException:
    error = outer(inner)
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


REFUSED = wrapping(RequestsConnectionError, wrapping(MaxRetryError, Exception(), reason=NewConnectionError()))


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ConnectionRefusedError(), "not_sent"),
        (socket.gaierror(), "not_sent"),
        (httpx.ConnectError("refused"), "not_sent"),
        (httpx.ConnectTimeout("slow"), "not_sent"),
        (REFUSED, "not_sent"),
        (wrapping(APIConnectionError, REFUSED), "not_sent"),
        (urllib.error.URLError(ConnectionRefusedError()), "not_sent"),
        (TimeoutError(), "sent_unknown"),
        (ConnectionResetError(), "sent_unknown"),
        (httpx.ReadTimeout("slow"), "sent_unknown"),
        (httpx.RemoteProtocolError("cut"), "sent_unknown"),
        (wrapping(RequestsConnectionError, ProtocolError("aborted")), "sent_unknown"),
        (urllib.error.URLError(TimeoutError()), "sent_unknown"),
        (KeyError("a bug"), "sent_unknown"),
        (status(429), "throttled"),
        (status(503, **{"Retry-After": "7"}), "throttled"),
        (status(503), "sent_unknown"),
        (status(500), "sent_unknown"),
        (status(502), "sent_unknown"),
        (status(302), "sent_unknown"),
        (status(408), "sent_unknown"),
        (status(409), "sent_unknown"),
        (status(400), "rejected"),
        (status(401), "rejected"),
        (status(422), "rejected"),
        (urllib.error.HTTPError("http://127.0.0.1", 404, "gone", Message(), None), "rejected"),
        (CardError(), "rejected"),
        (AttemptFailedError("permanent"), "permanent"),
    ],
    ids=str,
)
def test_an_error_names_its_cause(error: BaseException, cause: str) -> None:
    assert CauseTable().classify(error).cause == cause


def test_an_error_that_only_happened_before_proves_nothing() -> None:
    error = wrapping(RequestsConnectionError, ProtocolError("aborted"))
    error.__context__ = ConnectionRefusedError()
    assert CauseTable().classify(error).cause == Cause.SENT_UNKNOWN


def test_a_host_adds_rows_for_its_own_errors_and_their_subclasses() -> None:
    own = made("shop", "OutOfStockError")
    table = CauseTable().extended({"shop.OutOfStockError": Cause.REJECTED}, {409: Cause.REJECTED})
    assert table.classify(made("other", "Sub", own)()).cause == Cause.REJECTED
    assert table.classify(status(409)).cause == Cause.REJECTED
    assert CauseTable().classify(own()).cause == Cause.SENT_UNKNOWN


def test_a_failure_carries_the_status_and_what_the_destination_asks() -> None:
    failure = CauseTable().classify(status(429, **{"retry-after": "30"}))
    assert failure == Failure(Cause.THROTTLED, "status 429", "status 429", 429, "30")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("30", 30),
        (" 0 ", 0),
        ("Mon, 30 Nov 2026 12:01:00 GMT", 60),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0),
        ("9" * 30, 86400),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86400),
        ("soon", None),
        ("-5", None),
        ("²", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_read_and_bounded(header: str | None, seconds: int | None) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert wait_of(header, now=NOW) == expected
