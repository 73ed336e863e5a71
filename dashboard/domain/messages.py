"""Outbox messages on their way out: their states, how often they are tried, and the event they become."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from urllib.parse import quote

from dashboard.domain.policy import Retry

CONTENT_TYPE = "application/cloudevents+json"
DEFAULT_CLAIMS = 10
# Between two tries of one message, and between two looks at a sink that is away.
MESSAGE_RETRY = Retry(first=timedelta(seconds=10), factor=2.0, cap=timedelta(minutes=30))
SINK_RETRY = Retry(first=timedelta(seconds=2), factor=2.0, cap=timedelta(minutes=5))


class MessageState(StrEnum):
    """How far a message got; `dead` blocks its key until somebody redrives or discards it."""

    PENDING = "pending"
    PUBLISHED = "published"
    DEAD = "dead"
    DISCARDED = "discarded"


class Decision(StrEnum):
    """What a person can do about a dead letter: have it tried again, or give it up."""

    REDRIVE = "redrive"
    DISCARD = "discard"


@dataclass(frozen=True)
class Outgoing:
    """A message as a sink publishes it; `payload` is JSON text, `operation_id` the public id it belongs to."""

    number: int
    message_id: str
    tenant: str
    type: str
    topic: str
    aggregate_key: str
    payload: str
    created_at: datetime
    claims: int = 1
    operation_id: str | None = None


def cloud_event(message: Outgoing) -> str:
    """Write the message as a CloudEvent in structured JSON, its payload byte for byte as it was stored.

    Source: CloudEvents 1.0.2, JSON event format; `partitionkey` is its extension for partitioning.
    Raises ValueError where the payload is not JSON.
    """
    json.loads(message.payload)
    attributes = {
        "specversion": "1.0",
        "id": message.message_id,
        "source": f"/{quote(message.tenant, safe='')}/{quote(message.type, safe='')}",
        "type": message.topic,
        "subject": message.aggregate_key,
        "time": message.created_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "partitionkey": message.aggregate_key,
        "datacontenttype": "application/json",
    }
    if message.operation_id:
        attributes["operationid"] = message.operation_id
    head = json.dumps(attributes, ensure_ascii=False, separators=(",", ":"))
    return f'{head[:-1]},"data":{message.payload}}}'
