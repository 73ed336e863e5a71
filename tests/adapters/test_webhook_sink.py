"""The webhook sink: signed, in the form of CloudEvents, and each answer read for what it means."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from dashboard.adapters.sinks.outcomes import MessageRefusedError, NotTakenError, PublishError, SinkAwayError
from dashboard.adapters.sinks.webhook import WebhookPublisher
from dashboard.domain.messages import Outgoing
from dashboard.domain.policy import Sink
from tests import servers
from tests.receivers import SECRET, SECRET_ENV, Receiver, webhook_receiver

NOW = datetime.now(UTC)
MESSAGE = Outgoing(
    number=1,
    message_id="msg_1",
    tenant="tienda es",
    type="charge_order",
    topic="order.charged",
    aggregate_key="order-452",
    payload='{"n":1.10,"ñ":"é"}',
    created_at=datetime(2026, 11, 30, 12, 0, 0, 123457, tzinfo=UTC),
    operation_id="op-1",
)


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv(SECRET_ENV, SECRET)
    with webhook_receiver() as receiver:
        yield receiver


def publish(sink: Sink, message: Outgoing = MESSAGE) -> None:
    publisher = WebhookPublisher(sink)
    try:
        publisher.publish(message, at=NOW)
    finally:
        publisher.close()


def test_it_posts_a_signed_cloud_event(receiver: Receiver) -> None:
    publish(receiver.sink())
    (delivery,) = receiver.deliveries  # the receiver has checked the signature
    assert delivery.headers["content-type"] == "application/cloudevents+json"
    assert delivery.headers["webhook-id"] == "msg_1"
    assert delivery.event == {
        "specversion": "1.0",
        "id": "msg_1",
        "source": "/tienda%20es/charge_order",
        "type": "order.charged",
        "subject": "order-452",
        "time": "2026-11-30T12:00:00.123457Z",
        "partitionkey": "order-452",
        "datacontenttype": "application/json",
        "operationid": "op-1",
        "data": {"n": 1.10, "ñ": "é"},
    }


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *[(status, MessageRefusedError) for status in (301, 307, 400, 403, 404, 410, 422)],
        *[(status, SinkAwayError) for status in (401, 407, 408, 425, 429, 502, 503, 504)],
        *[(status, NotTakenError) for status in (500, 501, 507)],
    ],
)
def test_an_answer_says_who_is_to_blame(receiver: Receiver, status: int, error: type[PublishError]) -> None:
    receiver.answer = lambda _delivery: (status, {"Location": "http://127.0.0.1:1/"})
    with pytest.raises(error, match=f"it answered {status}"):
        publish(receiver.sink())


def test_a_sink_that_asks_to_wait_is_heard(receiver: Receiver) -> None:
    receiver.answer = lambda _delivery: (429, {"Retry-After": "120"})
    with pytest.raises(SinkAwayError) as caught:
        publish(receiver.sink())
    assert caught.value.retry_after == timedelta(minutes=2)


def test_a_private_address_gets_nothing_unless_the_policy_allows_it(receiver: Receiver) -> None:
    with pytest.raises(SinkAwayError, match="private"):
        publish(receiver.sink(allow_private=False))
    assert receiver.deliveries == []


def test_nobody_listening_is_a_sink_that_is_away(receiver: Receiver) -> None:
    with pytest.raises(SinkAwayError, match="cannot be reached"):
        publish(receiver.sink(url=f"http://127.0.0.1:{servers.free_port()}/"))


def test_no_answer_in_time_is_tried_again(receiver: Receiver) -> None:
    release = Event()

    def answer(_delivery: object) -> int:
        release.wait(5)
        return 204

    receiver.answer = answer
    with pytest.raises(NotTakenError, match="ReadTimeout"):
        publish(receiver.sink(timeout=timedelta(seconds=0.2)))
    release.set()


@pytest.mark.parametrize("secret", ["", "whsec_", "no base64 !"])
def test_without_a_secret_nothing_is_sent(receiver: Receiver, monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv(SECRET_ENV, secret)
    with pytest.raises(SinkAwayError, match=SECRET_ENV) as caught:
        publish(receiver.sink())
    assert not secret or secret not in caught.value.reason
    assert receiver.deliveries == []


def test_a_payload_that_is_no_json_is_refused(receiver: Receiver) -> None:
    broken = Outgoing(**{**MESSAGE.__dict__, "payload": "{"})
    with pytest.raises(MessageRefusedError):
        publish(receiver.sink(), broken)
