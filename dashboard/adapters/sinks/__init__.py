"""Sinks: where outbox messages go. One file a kind; copy a neighbour to add one and name it in `PUBLISHERS`.

A publisher belongs to one thread and keeps its connection. `publish` returns once the other side has the message,
and raises one of the errors of `outcomes` where it has not. It is never called while a transaction is open.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from dashboard.adapters.sinks import amqp, redis, webhook
from dashboard.domain.messages import Outgoing
from dashboard.domain.policy import Sink


class Publisher(Protocol):
    """Sends the messages of one sink; `at` is the time by the database's clock."""

    def publish(self, message: Outgoing, *, at: datetime) -> None:
        """Send one message and wait until it was taken."""

    def close(self) -> None:
        """Give up the connection."""


# `table` is missing on purpose: its messages stay where they are until a host takes them (see `table`).
PUBLISHERS: Mapping[str, Callable[[Sink], Publisher]] = MappingProxyType(
    {"amqp": amqp.AmqpPublisher, "redis": redis.RedisPublisher, "webhook": webhook.WebhookPublisher}
)
