from collections.abc import Callable
from dataclasses import replace

import pytest

from dashboard.db import Database, InsideTransactionError, assert_outside_transaction, reading, transaction
from dashboard.domain.causes import AttemptFailedError, Failure
from dashboard.domain.work import Confirmed, Sending, Sent, Work
from dashboard.services.handlers import Handlers

WORK = Work(
    operation_id="op-1",
    tenant="shop",
    type="charge_order",
    entity_type="order",
    entity_id="452",
    expected_version=None,
    expected={},
    destination="payments",
    idempotency_key="op-1",
    amount=None,
    currency=None,
    correlation_id=None,
    attempts=1,
    compensates=None,
    number=1,
    token="token",
    destination_failing=False,
    heartbeat=lambda: None,
)


def outcome(handle: Callable[[Work], Confirmed | Sent], *, single_request: bool = False) -> str:
    """The cause of the failure, or the name of the answer."""
    handlers = Handlers()
    handlers.handles("charge_order", single_request=single_request)(handle)
    answer = handlers.attempt(replace(WORK, progress=Sending()))
    return answer.cause.value if isinstance(answer, Failure) else type(answer).__name__


def refused_while_sending(work: Work) -> Confirmed:
    with work.sending():
        raise ConnectionRefusedError


def refused_and_wrapped(work: Work) -> Confirmed:
    try:
        return refused_while_sending(work)
    except ConnectionRefusedError as error:
        raise RuntimeError("no charge") from error


def refused_after_sending(work: Work) -> Confirmed:
    with work.sending():
        pass
    raise ConnectionRefusedError


def refused_by_the_second_request(work: Work) -> Confirmed:
    with work.sending():
        pass
    return refused_while_sending(work)


def refused_without_a_mark(_work: Work) -> Confirmed:
    raise ConnectionRefusedError


def given_up(_work: Work) -> Confirmed:
    raise SystemExit(1)


def judged_by_the_host(_work: Work) -> Confirmed:
    raise AttemptFailedError("local_conflict", "the order is locked")


@pytest.mark.parametrize(
    ("handle", "found"),
    [
        (refused_while_sending, "not_sent"),
        (refused_and_wrapped, "not_sent"),
        (refused_after_sending, "sent_unknown"),
        (refused_by_the_second_request, "sent_unknown"),
        (refused_without_a_mark, "sent_unknown"),
        (given_up, "sent_unknown"),
        (judged_by_the_host, "local_conflict"),
        (lambda _work: None, "sent_unknown"),
        (lambda _work: Sent("ch_1"), "Sent"),
        (lambda _work: Confirmed("ch_1"), "Confirmed"),
    ],
)
def test_only_the_marked_request_proves_that_nothing_was_sent(
    handle: Callable[[Work], Confirmed | Sent], found: str
) -> None:
    assert outcome(handle) == found


def test_a_handler_may_be_one_request_as_a_whole() -> None:
    assert outcome(refused_without_a_mark, single_request=True) == "not_sent"


def test_a_type_has_one_handler() -> None:
    handlers = Handlers()
    handlers.handles("charge_order")(refused_without_a_mark)
    with pytest.raises(ValueError, match="two handlers"):
        handlers.handles("charge_order")(refused_without_a_mark)


def test_nothing_is_sent_inside_a_transaction(sqlite_database: Database) -> None:
    handlers = Handlers()
    handlers.handles("charge_order")(lambda _work: Confirmed("ch_1"))
    for unit in (transaction, reading):
        with unit(sqlite_database), pytest.raises(InsideTransactionError):
            handlers.attempt(WORK)
    assert_outside_transaction()
