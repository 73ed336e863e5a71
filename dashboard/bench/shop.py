"""What the shop of a benchmark is like: types, tenants and how operations end, in the proportions of a real one.

Names of tenants begin with `bench-`: what is filled here can never be taken for somebody's own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

T = TypeVar("T")

DAYS = 90
OPEN_OF_A_THOUSAND = 5
# Open work is young: it is every fourth of the last operations.
OPEN_AMONG = 4
RARE = 60


@dataclass(frozen=True)
class Kind:
    """A type of operation; `share` is how many of a thousand it makes, `seconds` its usual time to confirmation."""

    type: str
    destination: str
    entity_type: str
    share: int
    deadline: timedelta
    seconds: float
    money: bool = False

    @property
    def slug(self) -> str:
        """How its ids begin."""
        return self.type.replace("_", "-")


KINDS = (
    Kind("charge_order", "payments", "order", 286, timedelta(hours=2), 3, money=True),
    Kind("sync_customer", "crm", "customer", 260, timedelta(hours=24), 8),
    Kind("create_shipment", "carrier", "order", 193, timedelta(hours=24), 240),
    Kind("issue_invoice", "invoicing", "invoice", 132, timedelta(hours=2), 20),
    Kind("send_notification", "mail", "order", 61, timedelta(hours=24), 2),
    Kind("refund_order", "payments", "order", 35, timedelta(hours=4), 6, money=True),
    Kind("grant_credit", "loyalty", "customer", 33, timedelta(hours=2), 2, money=True),
)
RARE_KIND = Kind("cancel_shipment", "carrier", "order", 0, timedelta(hours=24), 60)
COMMON_TYPE, RARE_TYPE = KINDS[0].type, RARE_KIND.type

TENANTS = (("bench-es", 63), ("bench-br", 28), ("bench-jp", 9))
COMMON_TENANT, RARE_TENANT = TENANTS[0][0], "bench-pt"
CURRENCIES = {"bench-es": "EUR", "bench-br": "BRL", "bench-jp": "JPY", RARE_TENANT: "EUR"}

AT_ONCE, RETRIED, PROBED, CLOSED, COMPENSATED = ENDS = ("at_once", "retried", "probed", "closed", "compensated")
ENDINGS = ((AT_ONCE, 920), (RETRIED, 22), (PROBED, 37), (CLOSED, 12), (COMPENSATED, 9))
AWAITING, REVIEW, RETRY, PENDING, PROCESSING = (
    "awaiting_confirmation",
    "manual_review",
    "retry_scheduled",
    "pending",
    "processing",
)
OPEN_STATES = ((AWAITING, 716), (REVIEW, 138), (RETRY, 69), (PENDING, 51), (PROCESSING, 26))
VERDICTS = (("absent", 45), ("divergent", 30), ("ambiguous", 25))
CAUSES = (("not_sent", 54), ("throttled", 46))


@dataclass(frozen=True)
class Size:
    """How much is filled: the operations, how many of them are open, and what they are dealt from."""

    operations: int
    open: int
    seed: int = 1


def size_of(operations: int, *, open: int | None = None, seed: int = 1) -> Size:  # noqa: A002 - what it is
    """A size with the usual share of open operations; never more than the last ones can hold."""
    wanted = operations * OPEN_OF_A_THOUSAND // 1000 if open is None else open
    return Size(operations, min(max(wanted, 1), operations // OPEN_AMONG), seed)


def spread(weighted: Sequence[tuple[T, int]]) -> tuple[T, ...]:
    """Each value as often as its weight says, to be picked from by a number."""
    return tuple(value for value, weight in weighted for _ in range(weight))


def is_open(number: int, size: Size) -> bool:
    """Whether the operation of this number, from 1 on, is open."""
    return number > size.operations - OPEN_AMONG * size.open and number % OPEN_AMONG == 0


def is_rare(number: int, size: Size, *, offset: int) -> bool:
    """Whether this operation is one of the few of the rare tenant (offset 0) or the rare type (offset 1)."""
    step = max(size.operations // RARE, 2)
    return number % step == offset


def moment(number: int, size: Size, *, now: datetime) -> datetime:
    """When the operation of this number was created: spread evenly, the oldest first."""
    return now - timedelta(days=DAYS) * ((size.operations - number + 1) / size.operations)


def chunks(total: int, *, at_once: int) -> Iterator[range]:
    """The numbers from 1 to the total, some at a time."""
    for first in range(1, total + 1, at_once):
        yield range(first, min(first + at_once, total + 1))
