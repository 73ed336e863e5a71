"""The sums of a plan: rows and exact amounts by what became of them, and the whole that they make."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from dashboard.domain.bulk import RowOutcome, exact_amount, exact_sum
from dashboard.models import BulkGroup
from dashboard.queries.bulk import Amount, Sums

Money = tuple[Decimal, str | None]


class Line(NamedTuple):
    """One line of the table: an outcome (None for the sum of all), its rows, and its amounts by currency."""

    outcome: str | None
    rows: int
    amounts: Sequence[Money]


def shown_sums(sums: Sums, amounts: Iterable[Amount]) -> list[Line]:
    """Give a line for each outcome, in the order of a row's life, and the sum of all below."""
    by_outcome: dict[str, dict[str | None, list[Decimal]]] = defaultdict(lambda: defaultdict(list))
    everything: dict[str | None, list[Decimal]] = defaultdict(list)
    for amount in amounts:
        by_outcome[amount.outcome][amount.currency].append(amount.total)
        everything[amount.currency].append(amount.total)
    lines = [Line(each.value, sums.of(each), _added(by_outcome[each])) for each in RowOutcome]
    return [*lines, Line(None, sums.total, _added(everything))]


def totals(groups: Iterable[BulkGroup]) -> list[Money]:
    """Give the exact total of these groups in each currency."""
    found: dict[str | None, list[Decimal]] = defaultdict(list)
    for group in groups:
        number = exact_amount(group.amount)
        if number is not None:
            found[group.currency].append(number)
    return _added(found)


def _added(amounts: dict[str | None, list[Decimal]]) -> list[Money]:
    return [(exact_sum(found), currency) for currency, found in sorted(amounts.items(), key=lambda item: item[0] or "")]
