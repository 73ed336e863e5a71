"""The shop's payment provider, spoken to through the official client."""

import os
from collections.abc import Sequence
from functools import lru_cache

import stripe

TIMEOUT_SECONDS = 5
TRANSPORT: type[stripe.RequestsClient] = stripe.RequestsClient


@lru_cache(maxsize=1)
def client() -> stripe.StripeClient:
    """The client, with a time-out and without retries of its own: those hide whether a first try went out."""
    return stripe.StripeClient(
        os.environ.get("STRIPE_API_KEY", "sk_test_example"),
        base_addresses={"api": os.environ.get("PAYMENTS_URL", "http://127.0.0.1:8420")},
        http_client=TRANSPORT(timeout=TIMEOUT_SECONDS),
        max_network_retries=0,
    )


def new_customer() -> str:
    """Make a customer with a card and give its id; one too many harms nobody, so no ledger is needed."""
    card: stripe.params.PaymentMethodCreateParamsCard = {
        "number": "4242424242424242",
        "exp_month": 12,
        "exp_year": 2040,
        "cvc": "123",
    }
    method = client().v1.payment_methods.create(params={"type": "card", "card": card})
    settings: stripe.params.CustomerCreateParamsInvoiceSettings = {"default_payment_method": method.id}
    return client().v1.customers.create(params={"payment_method": method.id, "invoice_settings": settings}).id


def charges_of(customer: str, operation_id: str) -> Sequence[stripe.Charge]:
    """The charges that one operation made, the newest last."""
    listed = client().v1.charges.list(params={"customer": customer, "limit": 100})
    made = [one for one in listed.auto_paging_iter() if one.metadata.to_dict().get("operation_id") == operation_id]
    return sorted(made, key=lambda charge: charge.created)
