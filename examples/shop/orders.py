"""The shop's own side: an order and the operation that charges it are written in one transaction, or not at all.

python -m examples.shop.orders place 452 19.90
python -m examples.shop.orders refund 452
"""

from decimal import Decimal

import click
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, select
from sqlalchemy.orm import Session

from dashboard import ledger
from dashboard.config import Settings
from dashboard.db import transact
from examples.shop import payments

TENANT = "example-shop"
CURRENCY = "EUR"
TABLES = MetaData()
ORDERS = Table(
    "shop_orders",
    TABLES,
    Column("id", String(40), primary_key=True),
    Column("customer", String(40), nullable=False),
    Column("cents", Integer, nullable=False),
)


def place(session: Session, order_id: str, *, customer: str, cents: int) -> None:
    """Write the order and the operation that charges it; the caller's transaction decides whether both exist."""
    session.execute(insert(ORDERS).values(id=order_id, customer=customer, cents=cents))
    ledger.register(session, _operation("charge_order", f"charge-{order_id}", order_id, customer=customer, cents=cents))


def refund(session: Session, order_id: str) -> None:
    """Write the operation that gives the order's total back."""
    order = session.execute(select(ORDERS).where(ORDERS.c.id == order_id)).one()
    operation = _operation("refund_order", f"refund-{order_id}", order_id, customer=order.customer, cents=order.cents)
    ledger.register(session, operation)


def _operation(kind: str, operation_id: str, order_id: str, *, customer: str, cents: int) -> ledger.NewOperation:
    return ledger.NewOperation(
        operation_id=operation_id,
        tenant=TENANT,
        type=kind,
        entity_type="order",
        entity_id=order_id,
        destination="payments",
        # As the provider shows it: in the smallest unit of the currency, whose code is in lower case.
        expected={"order": order_id, "customer": customer, "cents": cents, "currency": CURRENCY.lower()},
        amount=Decimal(cents).scaleb(-2),
        currency=CURRENCY,
    )


@click.group()
def main() -> None:
    """Place orders, and give their money back."""


@main.command("place")
@click.argument("order_id")
@click.argument("total", type=Decimal)
def place_command(order_id: str, total: Decimal) -> None:
    """Place an order of a new customer."""
    database = ledger.Database(Settings().database_url)
    TABLES.create_all(database.engine)
    customer = payments.new_customer()
    transact(database, lambda session: place(session, order_id, customer=customer, cents=int(total * 100)))
    click.echo(f"Order {order_id} is placed; charge-{order_id} will charge it.")


@main.command("refund")
@click.argument("order_id")
def refund_command(order_id: str) -> None:
    """Give the money of an order back."""
    database = ledger.Database(Settings().database_url)
    transact(database, lambda session: refund(session, order_id))
    click.echo(f"refund-{order_id} will give it back.")


if __name__ == "__main__":
    main()
