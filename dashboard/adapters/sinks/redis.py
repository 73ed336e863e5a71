"""Publish to a queue in Redis, in kombu's own form, for kombu and Celery consumers and whatever reads its list.

Settings: `url`, `queue`. Redis answers a push once the list holds it; how durable that is, its own settings say.
"""

from datetime import datetime

from kombu import Producer

from dashboard.adapters.sinks import broker
from dashboard.domain.messages import Outgoing
from dashboard.domain.policy import Sink

OPTIONS = {
    "socket_timeout": broker.TIMEOUT_SECONDS,
    "socket_connect_timeout": broker.TIMEOUT_SECONDS,
    "retry_on_timeout": False,
}


class RedisPublisher:
    """Pushes to one queue over a connection that it keeps."""

    def __init__(self, sink: Sink) -> None:
        self._queue = str(sink.settings.get("queue", ""))
        self._connection = broker.connect(sink, OPTIONS)
        self._producer: Producer | None = None

    def publish(self, message: Outgoing, *, at: datetime) -> None:  # noqa: ARG002 - nothing here is signed
        """Push the message and wait until Redis has it."""
        body = broker.body(message)
        with broker.in_our_words(self._connection):
            self._opened().publish(body, exchange="", routing_key=self._queue, **broker.properties(message))

    def close(self) -> None:
        """Close the connection."""
        self._connection.release()

    def _opened(self) -> Producer:
        if self._producer is None:
            self._producer = Producer(self._connection.channel())
        return self._producer
