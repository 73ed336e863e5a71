"""How the shop's operations are sent: `dashboard worker --handlers examples.shop.handlers:handlers`."""

from dashboard import ledger
from examples.shop import payments

handlers = ledger.Handlers()


@handlers.handles("charge_order")
def charge(work: ledger.Work) -> ledger.Confirmed:
    """Charge the order; the operation's id travels along, so that the charge can be found again."""
    wanted = work.expected
    with work.sending():
        made = payments.client().v1.charges.create(
            params={
                "amount": wanted["cents"],
                "currency": wanted["currency"],
                "customer": wanted["customer"],
                "metadata": {"operation_id": work.operation_id},
            },
            options={"idempotency_key": work.idempotency_key},
        )
    return ledger.Confirmed(made.id, {"status": made.status, "amount": made.amount})


@handlers.handles("refund_order")
def refund(work: ledger.Work) -> ledger.Confirmed:
    """Give back the newest charge of the order that was not given back yet."""
    charged_by = work.compensates.operation_id if work.compensates else f"charge-{work.entity_id}"
    charges = payments.charges_of(work.expected["customer"], charged_by)
    open_charges = [one for one in charges if not one.refunded]
    if not open_charges:
        raise ledger.AttemptFailedError("permanent", "there is no charge to give back")
    with work.sending():
        made = payments.client().v1.refunds.create(
            params={
                "charge": open_charges[-1].id,
                "amount": work.expected["cents"],
                "metadata": {"operation_id": work.operation_id},
            },
            options={"idempotency_key": work.idempotency_key},
        )
    return ledger.Confirmed(made.id, {"status": made.status or "", "amount": made.amount})
