"""Publish to an exchange of an AMQP broker (RabbitMQ): persistent, confirmed, and never into the void.

Settings: `url`, `exchange`. The exchange exists already: its owner declares it and binds queues to it. The message's
topic is the routing key. The broker confirms an unroutable message as well, so it is told to return it first
(https://www.rabbitmq.com/docs/confirms#when-publishes-are-confirmed).
"""

from datetime import datetime
from typing import Any

from kombu import Producer

from dashboard.adapters.sinks import broker
from dashboard.adapters.sinks.outcomes import NotTakenError
from dashboard.domain.messages import Outgoing
from dashboard.domain.policy import Sink

PERSISTENT = 2
OPTIONS = {
    "confirm_publish": True,
    "read_timeout": broker.TIMEOUT_SECONDS,
    "write_timeout": broker.TIMEOUT_SECONDS,
}


class AmqpPublisher:
    """Publishes to one exchange over a channel that it keeps."""

    def __init__(self, sink: Sink) -> None:
        self._exchange = str(sink.settings.get("exchange", ""))
        self._connection = broker.connect(sink, OPTIONS)
        self._producer: Producer | None = None
        self._returned: list[str] = []

    def publish(self, message: Outgoing, *, at: datetime) -> None:  # noqa: ARG002 - a broker has its own clock
        """Publish the message and wait for the broker's confirmation."""
        body = broker.body(message)
        self._returned.clear()
        with broker.in_our_words(self._connection):
            self._opened().publish(
                body,
                exchange=self._exchange,
                routing_key=message.topic,
                mandatory=True,
                delivery_mode=PERSISTENT,
                timeout=broker.TIMEOUT_SECONDS,
                confirm_timeout=broker.TIMEOUT_SECONDS,
                **broker.properties(message),
            )
        if self._returned:
            raise NotTakenError(f"no queue takes its topic: {self._returned[0]}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.release()

    def _opened(self) -> Producer:
        if self._producer is None:
            self._producer = Producer(self._connection.channel(), on_return=self._note_return)
        return self._producer

    def _note_return(self, error: Any, _exchange: str, _routing_key: str, _message: object) -> None:
        self._returned.append(str(error.reply_text)[:200])
