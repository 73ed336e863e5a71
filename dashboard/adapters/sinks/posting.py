"""Post to a receiver over HTTP, and tell what its answer means.

2xx takes what was posted. 408, 425, 429, 502, 503, 504, 401, 407 and a connection that fails say that the receiver is
away. Other 5xx and an answer that does not come are tried again. All else, 410 and redirects too, refuses it.
"""

import re
import time
from collections.abc import Mapping
from datetime import timedelta

import httpx

from dashboard.adapters.outward import only_public, trusted_certificates
from dashboard.adapters.sinks.outcomes import MessageRefusedError, NotTakenError, PublishError, SinkAwayError

# Beyond this the lease of what is sent might end before its answer comes.
LONGEST_TIMEOUT = timedelta(seconds=20)
LONGEST_RETRY_AFTER = timedelta(hours=1)
MAX_ANSWER = 64_000
AWAY = frozenset({401, 407, 408, 425, 429, 502, 503, 504})
_SUCCESS = range(200, 300)
_SERVER_ERRORS = range(500, 600)


class Poster:
    """Posts to one address over a connection that it keeps."""

    def __init__(self, url: str | None, *, timeout: timedelta, allow_private: bool) -> None:
        self._url = url
        self._seconds = min(timeout, LONGEST_TIMEOUT).total_seconds()
        self._extensions = {} if allow_private else only_public(_private)
        # No proxy of the environment: the address that is checked must be the one that is asked.
        self._client = httpx.Client(
            timeout=self._seconds, trust_env=False, follow_redirects=False, verify=trusted_certificates()
        )

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Post the body; whatever is not a 2xx answer raises a PublishError."""
        if self._url is None:
            raise SinkAwayError("the policy names no address, or its environment variable is not set")
        try:
            response = self._post(body, headers)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.RemoteProtocolError) as error:
            raise SinkAwayError(f"it cannot be reached ({type(error).__name__})") from error
        except httpx.HTTPError as error:
            raise NotTakenError(f"no answer came ({type(error).__name__})") from error
        except (httpx.InvalidURL, ValueError) as error:
            raise SinkAwayError("its address cannot be used") from error
        _check(response)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _post(self, body: bytes, headers: Mapping[str, str]) -> httpx.Response:
        until = time.monotonic() + self._seconds
        request = {"content": body, "headers": headers, "extensions": self._extensions}
        with self._client.stream("POST", str(self._url), **request) as response:  # type: ignore[arg-type]
            _read_some(response, until=until)
            return response


def _read_some(response: httpx.Response, *, until: float) -> None:
    """Read an answer to its end, so that the connection can be used again; one that is long or slow is cut off."""
    read = 0
    for part in response.iter_raw():
        read += len(part)
        if read > MAX_ANSWER or time.monotonic() > until:
            return


def _check(response: httpx.Response) -> None:
    status = response.status_code
    if status in _SUCCESS:
        return
    reason = f"it answered {status} {response.reason_phrase}".strip()[:200]
    if status in AWAY:
        raise SinkAwayError(reason, retry_after=_retry_after(response))
    if status in _SERVER_ERRORS:
        raise NotTakenError(reason)
    raise MessageRefusedError(reason)


def _retry_after(response: httpx.Response) -> timedelta | None:
    written = re.fullmatch(r"\s*([0-9]{1,8})\s*", response.headers.get("Retry-After", ""))
    return min(timedelta(seconds=int(written[1])), LONGEST_RETRY_AFTER) if written else None


def _private() -> PublishError:
    return SinkAwayError("its address is a private one, and the policy does not allow that")
