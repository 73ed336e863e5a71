"""Publish by a signed HTTP POST: a CloudEvent in structured JSON, signed as Standard Webhooks says.

Settings: `url`, `secret_env` (the variable that holds the secret, `whsec_` and base64), `timeout`, `allow_private`.
2xx takes the message. 408, 425, 429, 502, 503, 504, 401, 407 and a connection that fails say that the sink is away.
Other 5xx and an answer that does not come are tried again. All else, 410 and redirects too, refuses the message.
Sources: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, CloudEvents 1.0.2.
"""

import ipaddress
import os
import re
import ssl
import time
from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import httpx
from standardwebhooks import Webhook
from standardwebhooks.webhooks import EmptyWebhookSecretError

from dashboard.adapters.sinks.outcomes import MessageRefusedError, NotTakenError, SinkAwayError
from dashboard.domain.messages import CONTENT_TYPE, Outgoing, cloud_event
from dashboard.domain.policy import Sink

DEFAULT_TIMEOUT = timedelta(seconds=5)
# Beyond this the lease of the message might end before its answer comes.
LONGEST_TIMEOUT = timedelta(seconds=20)
LONGEST_RETRY_AFTER = timedelta(hours=1)
MAX_ANSWER = 64_000
AWAY = frozenset({401, 407, 408, 425, 429, 502, 503, 504})
_SUCCESS = range(200, 300)
_SERVER_ERRORS = range(500, 600)


class WebhookPublisher:
    """Posts messages to one address over a connection that it keeps."""

    def __init__(self, sink: Sink) -> None:
        url = sink.settings.get("url")
        timeout = sink.settings.get("timeout")
        seconds = min(timeout if isinstance(timeout, timedelta) else DEFAULT_TIMEOUT, LONGEST_TIMEOUT).total_seconds()
        self._url = str(url) if url else None
        self._secret_env = str(sink.settings.get("secret_env"))
        self._seconds = seconds
        self._extensions = {} if sink.settings.get("allow_private") is True else {"trace": _refuse_private}
        # No proxy of the environment: the address that is checked must be the one that is asked.
        self._client = httpx.Client(timeout=seconds, trust_env=False, follow_redirects=False, verify=_trusted())

    def publish(self, message: Outgoing, *, at: datetime) -> None:
        """Post the message; whatever is not a 2xx answer raises."""
        if self._url is None:
            raise SinkAwayError("the policy names no address, or its environment variable is not set")
        body = _event(message)
        headers = {"Content-Type": CONTENT_TYPE, **self._signature(message, body, at=at)}
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

    def _post(self, body: str, headers: Mapping[str, str]) -> httpx.Response:
        until = time.monotonic() + self._seconds
        request = {"content": body.encode(), "headers": headers, "extensions": self._extensions}
        with self._client.stream("POST", str(self._url), **request) as response:  # type: ignore[arg-type]
            _read_some(response, until=until)
            return response

    def _signature(self, message: Outgoing, body: str, *, at: datetime) -> dict[str, str]:
        try:
            # Decoded here, because the library passes over letters that no base64 has.
            secret = os.environ.get(self._secret_env, "").strip().removeprefix("whsec_")
            signature = Webhook(b64decode(secret, validate=True)).sign(message.message_id, at, body)
        except (EmptyWebhookSecretError, ValueError) as error:
            raise SinkAwayError(f"the environment variable {self._secret_env} holds no secret of a webhook") from error
        return {
            "webhook-id": message.message_id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
        }


@cache
def _trusted() -> ssl.SSLContext:
    # Reading all certificates takes longer than publishing many messages.
    return httpx.create_ssl_context(trust_env=False)


def _event(message: Outgoing) -> str:
    try:
        return cloud_event(message)
    except ValueError as error:
        raise MessageRefusedError("its payload is not JSON") from error


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


def _refuse_private(event: str, found: Mapping[str, Any]) -> None:
    """Called by httpcore as it goes; the address is checked once connected, before a byte is sent."""
    if event != "connection.connect_tcp.complete":
        return
    connection = found["return_value"]
    host = str(connection.get_extra_info("server_addr")[0])
    address = ipaddress.ip_address(host.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    if not address.is_global or address.is_multicast:
        connection.close()
        raise SinkAwayError("its address is a private one, and the policy does not allow that")
