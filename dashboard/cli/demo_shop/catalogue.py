"""What the demo shop does, where, for whom and for how much."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from dashboard.domain.fingerprint import fingerprint


@dataclass(frozen=True)
class Work:
    """One type of operation; `share` is how many of a thousand it makes, `seconds` its usual time to confirmation."""

    type: str
    destination: str
    entity_type: str
    share: int
    deadline: timedelta
    seconds: float
    money: bool = False


WORK: Mapping[str, Work] = {
    work.type: work
    for work in (
        Work("charge_order", "payments", "order", 286, timedelta(hours=2), 3, money=True),
        Work("sync_customer", "crm", "customer", 260, timedelta(hours=24), 8),
        Work("create_shipment", "carrier", "order", 193, timedelta(hours=24), 240),
        Work("issue_invoice", "invoicing", "invoice", 132, timedelta(hours=2), 20, money=True),
        Work("send_notification", "mail", "order", 61, timedelta(hours=24), 2),
        Work("refund_order", "payments", "order", 35, timedelta(hours=4), 6, money=True),
        Work("grant_credit", "loyalty", "customer", 33, timedelta(hours=2), 2, money=True),
    )
}
TENANTS: Mapping[str, tuple[int, str]] = {"tienda-es": (63, "EUR"), "loja-br": (28, "BRL"), "shop-jp": (9, "JPY")}
REMOTE_PREFIX = {"payments": "pay", "crm": "crm", "carrier": "par", "invoicing": "inv", "mail": "msg", "loyalty": "loy"}


def some_work(random: Random) -> Work:
    """Any type of work, as often as the shop does it."""
    return random.choices(list(WORK.values()), weights=[work.share for work in WORK.values()])[0]


def new_operation(
    random: Random, work: Work, *, number: int, created_at: datetime, entity_id: str | None = None
) -> dict[str, Any]:
    """The columns of a pending operation, as they stand in an import file."""
    tenant = random.choices(list(TENANTS), weights=[weight for weight, _ in TENANTS.values()])[0]
    entity = entity_id or _entity_id(random, work, created_at, number)
    version = random.randint(1, 9)
    money = _money(random, TENANTS[tenant][1]) if work.money else {}
    expected = {"version": version, work.entity_type: entity, **money, **_more(random, work, entity)}
    return {
        "kind": "operation",
        "operation_id": f"{work.type.replace('_', '-')}-{number:06d}-{random.getrandbits(32):08x}",
        "tenant": tenant,
        "type": work.type,
        "entity_type": work.entity_type,
        "entity_id": entity,
        "expected_version": version,
        "expected": expected,
        "fingerprint": fingerprint(expected),
        "destination": work.destination,
        "idempotency_key": f"{work.type}:{entity}:v{version}:{number}",
        "correlation_id": f"req-{random.getrandbits(48):012x}",
        **money,
    }


def remote_id(random: Random, destination: str) -> str:
    """A number as the destination would give it."""
    return f"{REMOTE_PREFIX[destination]}_{random.getrandbits(40):010x}"


def _entity_id(random: Random, work: Work, created_at: datetime, number: int) -> str:
    if work.entity_type == "invoice":
        return f"F{created_at:%Y%m}-{number:05d}"
    return str(random.randint(300, 3999))


def _money(random: Random, currency: str) -> dict[str, str]:
    amount = min(random.lognormvariate(4.4, 0.9), 2400.0)
    if currency == "JPY":
        return {"amount": str(round(amount * 160)), "currency": currency}
    return {"amount": f"{amount * (5 if currency == 'BRL' else 1):.2f}", "currency": currency}


def _more(random: Random, work: Work, entity: str) -> dict[str, Any]:
    match work.type:
        case "sync_customer":
            return {"email": f"customer{entity}@example.com", "segment": random.choice("ABC")}
        case "create_shipment":
            return {"parcels": random.choice((1, 1, 1, 2)), "service": random.choice(("standard", "express"))}
        case "send_notification":
            return {"template": random.choice(("order_shipped", "order_paid", "order_late"))}
    return {}
