"""Publish by a signed HTTP POST: a CloudEvent in structured JSON, signed as Standard Webhooks says.

Settings: `url`, `secret_env` (the variable that holds the secret, `whsec_` and base64), `timeout`, `allow_private`.
`posting` says what an answer means.
Sources: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, CloudEvents 1.0.2.
"""

import os
from base64 import b64decode
from datetime import datetime, timedelta

from standardwebhooks import Webhook
from standardwebhooks.webhooks import EmptyWebhookSecretError

from dashboard.adapters.sinks.outcomes import MessageRefusedError, SinkAwayError
from dashboard.adapters.sinks.posting import Poster
from dashboard.domain.messages import CONTENT_TYPE, Outgoing, cloud_event
from dashboard.domain.policy import Sink

DEFAULT_TIMEOUT = timedelta(seconds=5)


class WebhookPublisher:
    """Posts messages to one address over a connection that it keeps."""

    def __init__(self, sink: Sink) -> None:
        url, timeout = sink.settings.get("url"), sink.settings.get("timeout")
        self._secret_env = str(sink.settings.get("secret_env"))
        self._poster = Poster(
            str(url) if url else None,
            timeout=timeout if isinstance(timeout, timedelta) else DEFAULT_TIMEOUT,
            allow_private=sink.settings.get("allow_private") is True,
        )

    def publish(self, message: Outgoing, *, at: datetime) -> None:
        """Post the message; whatever is not a 2xx answer raises."""
        body = _event(message)
        headers = {"Content-Type": CONTENT_TYPE, **self._signature(message, body, at=at)}
        self._poster.post(body.encode(), headers)

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()

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


def _event(message: Outgoing) -> str:
    try:
        return cloud_event(message)
    except ValueError as error:
        raise MessageRefusedError("its payload is not JSON") from error
