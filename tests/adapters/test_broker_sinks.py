"""AMQP and Redis through kombu, against real servers: taken and durable, or said why not."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from kombu import Connection, Exchange, Queue

from dashboard.adapters.sinks.amqp import AmqpPublisher
from dashboard.adapters.sinks.outcomes import MessageRefusedError, NotTakenError, SinkAwayError
from dashboard.adapters.sinks.redis import RedisPublisher
from dashboard.domain.messages import Outgoing
from dashboard.domain.policy import Sink
from tests import servers

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ORDERS = Exchange("orders", type="topic", durable=True)
CHARGES = Queue("charges", exchange=ORDERS, routing_key="order.*", durable=True)


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with servers.rabbitmq() as url:
        yield url


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    with servers.redis() as url:
        yield url


def outgoing(**values: Any) -> Outgoing:
    return Outgoing(
        **{
            "number": 1,
            "message_id": "msg_1",
            "tenant": "tienda-es",
            "type": "charge_order",
            "topic": "order.charged",
            "aggregate_key": "order-452",
            "payload": '{"amount":"318.93"}',
            "created_at": NOW,
            **values,
        }
    )


def take(url: str, queue: Queue) -> Any:
    """The next message of a queue, taken off it; None where it is empty."""
    with Connection(url) as connection:
        return queue.bind(connection.default_channel).get(no_ack=True)


def amqp(url: str, exchange: str = "orders") -> AmqpPublisher:
    return AmqpPublisher(Sink("bus", "amqp", {"url": url, "exchange": exchange}))


@pytest.mark.xdist_group("rabbitmq")
def test_amqp_keeps_the_message_under_its_id(broker: str) -> None:
    with Connection(broker) as connection:
        CHARGES.bind(connection.default_channel).declare()
    publisher = amqp(broker)
    publisher.publish(outgoing(), at=NOW)
    publisher.close()
    message = take(broker, CHARGES)
    event = json.loads(message.body)
    assert (event["id"], event["type"], event["data"]) == ("msg_1", "order.charged", {"amount": "318.93"})
    assert message.content_type == "application/cloudevents+json"
    assert (message.properties["message_id"], message.properties["delivery_mode"]) == ("msg_1", 2)


@pytest.mark.xdist_group("rabbitmq")
def test_amqp_does_not_lose_what_no_queue_takes(broker: str) -> None:
    with Connection(broker) as connection:
        CHARGES.bind(connection.default_channel).declare()
    publisher = amqp(broker)
    with pytest.raises(NotTakenError, match="NO_ROUTE"):
        publisher.publish(outgoing(topic="nobody.listens"), at=NOW)
    publisher.publish(outgoing(message_id="msg_2"), at=NOW)
    publisher.close()
    assert json.loads(take(broker, CHARGES).body)["id"] == "msg_2"


@pytest.mark.xdist_group("rabbitmq")
def test_amqp_says_that_its_exchange_is_missing(broker: str) -> None:
    publisher = amqp(broker, exchange="nowhere")
    with pytest.raises(SinkAwayError, match="no exchange 'nowhere'"):
        publisher.publish(outgoing(), at=NOW)
    publisher.close()


@pytest.mark.xdist_group("rabbitmq")
def test_amqp_says_that_it_is_not_let_in(broker: str) -> None:
    publisher = amqp(broker.replace("guest:guest", "guest:wrong-password"))
    with pytest.raises(SinkAwayError) as caught:
        publisher.publish(outgoing(), at=NOW)
    publisher.close()
    assert "wrong-password" not in caught.value.reason


@pytest.mark.xdist_group("redis")
def test_redis_holds_the_message_for_kombu_consumers(redis: str) -> None:
    publisher = RedisPublisher(Sink("queue", "redis", {"url": redis, "queue": "charges"}))
    publisher.publish(outgoing(), at=NOW)
    publisher.publish(outgoing(message_id="msg_2"), at=NOW)
    publisher.close()
    messages = [take(redis, Queue("charges")) for _ in range(2)]
    assert [message.properties["message_id"] for message in messages] == ["msg_1", "msg_2"]
    assert json.loads(messages[0].body)["data"] == {"amount": "318.93"}


@pytest.mark.parametrize(
    "publisher",
    [
        pytest.param(lambda port: amqp(f"amqp://guest:guest@127.0.0.1:{port}//"), id="amqp"),
        pytest.param(
            lambda port: RedisPublisher(Sink("queue", "redis", {"url": f"redis://127.0.0.1:{port}/0", "queue": "q"})),
            id="redis",
        ),
    ],
)
def test_a_broker_that_is_not_there_is_away(publisher: Callable[[int], AmqpPublisher | RedisPublisher]) -> None:
    absent = publisher(servers.free_port())
    with pytest.raises(SinkAwayError, match="cannot be reached"):
        absent.publish(outgoing(), at=NOW)
    absent.close()


def test_a_payload_that_is_no_json_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(MessageRefusedError):
        amqp("amqp://127.0.0.1:1//").publish(outgoing(payload="no json"), at=NOW)
