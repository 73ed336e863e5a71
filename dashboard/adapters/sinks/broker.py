"""What the sinks that publish through kombu share: a connection that is kept, and errors in our words."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from amqp.exceptions import AccessRefused, MessageNacked, NotFound
from kombu import Connection
from kombu.exceptions import KombuError, OperationalError

from dashboard.adapters.sinks.outcomes import MessageRefusedError, PublishError, SinkAwayError
from dashboard.domain.messages import CONTENT_TYPE, Outgoing, cloud_event
from dashboard.domain.policy import Sink

TIMEOUT_SECONDS = 5.0


def connect(sink: Sink, options: Mapping[str, object]) -> Connection:
    """Make the connection; nothing is sent before its first use."""
    url = sink.settings.get("url")
    if not url:
        raise SinkAwayError("the policy names no address, or its environment variable is not set")
    return Connection(str(url), connect_timeout=TIMEOUT_SECONDS, transport_options=dict(options))


def properties(message: Outgoing) -> dict[str, Any]:
    """What a message carries beside its body; CloudEvents: AMQP and Kafka bindings call this structured mode."""
    return {
        "content_type": CONTENT_TYPE,
        "content_encoding": "utf-8",
        "message_id": message.message_id,
        "type": message.topic,
        "timestamp": int(message.created_at.timestamp()),
        "headers": {"partitionkey": message.aggregate_key, "tenant": message.tenant},
    }


def body(message: Outgoing) -> bytes:
    """The message as a CloudEvent."""
    try:
        return cloud_event(message).encode()
    except ValueError as error:
        raise MessageRefusedError("its payload is not JSON") from error


@contextmanager
def in_our_words(connection: Connection) -> Iterator[None]:
    """Turn what kombu and its drivers raise into what it means for the relay; never with the address, a secret."""
    try:
        yield
    except PublishError:
        raise
    except (AccessRefused, NotFound) as error:
        raise SinkAwayError(f"it refuses us: {error.reply_text}"[:200]) from error
    except MessageNacked as error:
        raise SinkAwayError("the broker did not take the message") from error
    except (KombuError, OperationalError, *connection.connection_errors, *connection.channel_errors) as error:
        raise SinkAwayError(f"it cannot be reached ({type(error).__name__})") from error
