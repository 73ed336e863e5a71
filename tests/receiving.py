"""A shop whose destinations speak by themselves: its policies, result files and signed receipts, for tests."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from datetime import datetime
from io import BytesIO
from typing import Any

from sqlalchemy import select
from standardwebhooks import Webhook

from dashboard.db import Database, reading, transaction
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry, EvidenceItem, Operation, OperationEvent
from dashboard.services.evidence import EvidenceSummary, import_evidence
from dashboard.services.import_rows import Rejected
from dashboard.services.policies import read_policies
from tests import factories

ACTOR = Actor(ActorKind.SYSTEM, "command line, test")
STRIPE_SECRET = "whsec_of_the_stripe_account"
WEBHOOK_SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four").decode()
ENVIRONMENT = {"BANK_SECRET": WEBHOOK_SECRET, "CARDS_SECRET": STRIPE_SECRET}

POLICY = """
version = 1
[destinations.bank]
honours_idempotency_key = false
[destinations.bank.evidence]
format = "csv"
columns = { operation_id = "Reference", remote_id = "Transaction", amount = "Amount", status = "Status" }
present = "status == 'settled'"
cancelled = "status == 'void'"
[destinations.bank.receipts]
scheme = "standard_webhooks"
secret = { env = "BANK_SECRET" }
fields = { operation_id = "data.reference", remote_id = "data.id", amount = "data.amount", occurred_at = "timestamp" }
[destinations.cards.evidence]
format = "jsonl"
columns = { idempotency_key = "key", remote_id = "id", amount = "amount", event_id = "event", occurred_at = "at" }
[destinations.cards.receipts]
scheme = "stripe"
secret = { env = "CARDS_SECRET" }
fields = { operation_id = "data.object.metadata.operation_id", amount = "data.object.amount" }
[types.pay_supplier]
destination = "bank"
probe = { kind = "file" }
deadline = "3d"
compare = [{ field = "amount", expected = "amount", actual = "amount", kind = "decimal" }]
[types.charge_card]
destination = "cards"
probe = { kind = "receipt" }
compare = [{ field = "amount", expected = "amount", actual = "amount", kind = "decimal" }]
"""


def policies(text: str = POLICY) -> Policies:
    """The shop's policies."""
    return read_policies(text.encode(), environment=ENVIRONMENT)


def add_payment(database: Database, **values: Any) -> str:
    """A payment whose answer is awaited, and its operation id."""
    with transaction(database) as session:
        given = {"type": "pay_supplier", "destination": "bank", "state": "awaiting_confirmation", **values}
        return factories.operation(session, **{"expected": {"amount": "318.93"}, **given}).operation_id


def add_charge(database: Database, **values: Any) -> str:
    """A charge of the cards destination whose answer is awaited."""
    return add_payment(database, **{"type": "charge_card", "destination": "cards", **values})


def settlement(*rows: Sequence[str]) -> bytes:
    """A file of the bank."""
    return "\r\n".join(",".join(row) for row in (("Reference", "Transaction", "Amount", "Status"), *rows)).encode()


def take_in(
    database: Database, content: bytes, *, destination: str = "bank", rules: Policies | None = None
) -> tuple[EvidenceSummary, list[Rejected]]:
    """Import a file and give what became of it."""
    rejected: list[Rejected] = []
    summary = import_evidence(
        database,
        source=BytesIO(content),
        name="settlement.csv",
        destination=destination,
        policies=rules or policies(),
        actor=ACTOR,
        reject=rejected.append,
    )
    return summary, rejected


def codes(rejected: Sequence[Rejected]) -> list[tuple[int, str, str]]:
    """Line, field and code of each rejected line."""
    return [(each.number, problem.field, problem.code) for each in rejected for problem in each.problems]


def operation(database: Database, operation_id: str) -> Operation:
    """The operation as it is now."""
    with reading(database) as session:
        return session.scalars(select(Operation).where(Operation.operation_id == operation_id)).one()


def events(database: Database, operation_id: str) -> list[OperationEvent]:
    """What happened to it, in order."""
    with reading(database) as session:
        found = select(OperationEvent).join(Operation, Operation.id == OperationEvent.operation_id)
        return list(
            session.scalars(found.where(Operation.operation_id == operation_id).order_by(OperationEvent.seq)).all()
        )


def items(database: Database) -> list[EvidenceItem]:
    """All that is kept."""
    with reading(database) as session:
        return list(session.scalars(select(EvidenceItem).order_by(EvidenceItem.id)).all())


def audited(database: Database, action: str) -> list[AuditEntry]:
    """The audit entries of an action."""
    with reading(database) as session:
        return list(session.scalars(select(AuditEntry).where(AuditEntry.action == action)).all())


def bank_message(at: datetime, event_id: str = "msg_1", **fields: Any) -> tuple[bytes, dict[str, str]]:
    """A message of the bank and its headers, signed by Standard Webhooks."""
    body = json.dumps({"type": "payment.settled", "data": fields}).encode()
    signature = Webhook(WEBHOOK_SECRET).sign(event_id, at, body.decode())
    stamp = str(int(at.timestamp()))
    return body, {"webhook-id": event_id, "webhook-timestamp": stamp, "webhook-signature": signature}


def cards_message(at: datetime, event_id: str = "evt_1", **fields: Any) -> tuple[bytes, dict[str, str]]:
    """An event of the cards destination and its header, signed as Stripe signs."""
    body = json.dumps({"id": event_id, "data": {"object": fields}}).encode()
    stamp = str(int(at.timestamp()))
    signature = hmac.new(STRIPE_SECRET.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    return body, {"stripe-signature": f"t={stamp},v1={signature},v0=old"}
