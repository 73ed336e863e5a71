"""The example's handlers, killed at the step that the environment names in DIE_AT; `place` kills while registering."""

import os
import signal
import sys
from typing import Any

import stripe

from dashboard import ledger
from dashboard.db import transaction
from examples.shop import handlers as shop
from examples.shop import orders, payments

handlers = ledger.Handlers()


def die(step: str) -> None:
    """End as abruptly as a machine that loses its power."""
    if os.environ.get("DIE_AT") == step:
        os.kill(os.getpid(), signal.SIGKILL)


class _Dying(stripe.RequestsClient):
    def request(self, method: str, url: str, *rest: Any, **more: Any) -> Any:
        makes_effect = method == "post" and url.endswith(("/v1/charges", "/v1/refunds"))
        if makes_effect:
            die("before send")
        answer = super().request(method, url, *rest, **more)
        if makes_effect:
            die("after send")
        return answer


payments.TRANSPORT = _Dying


@handlers.handles("charge_order", "refund_order")
def send(work: ledger.Work) -> ledger.Confirmed | ledger.Sent:
    """Send as the example does, and die on the way."""
    die("after claim")
    answer = shop.charge(work) if work.type == "charge_order" else shop.refund(work)
    die("before record")
    return answer


def place(url: str, order_id: str, customer: str) -> None:
    """Place an order in a process that dies before or after the commit."""
    with transaction(ledger.Database(url)) as session:
        orders.place(session, order_id, customer=customer, cents=1990)
        die("before register")
    die("after register")


if __name__ == "__main__":
    place(*sys.argv[1:])
