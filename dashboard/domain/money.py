"""Amounts of money: exact decimals with a currency, never floating point."""

import re
from dataclasses import dataclass
from decimal import Decimal

# At most 24 digits before the point and 6 after it: fits every engine's exact column and text of 32.
_AMOUNT = re.compile(r"-?[0-9]{1,24}(?:\.[0-9]{1,6})?")
_CURRENCY = re.compile(r"[A-Z]{3}")


class AmountError(ValueError):
    """Text that is no amount, or a currency that is no three-letter code; `code` says which."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


@dataclass(frozen=True)
class Money:
    """An exact amount in a currency (ISO 4217, three letters)."""

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        if not self.amount.is_finite():
            raise AmountError("amount_invalid")
        if not _CURRENCY.fullmatch(self.currency):
            raise AmountError("currency_invalid")


def parse_amount(text: str) -> Decimal:
    """Read a finite amount in plain notation, digits kept as written; AmountError otherwise."""
    if not _AMOUNT.fullmatch(text):
        raise AmountError("amount_invalid")
    return Decimal(text)
