"""A small shop that charges and refunds through a payment provider, with the ledger keeping it honest."""
