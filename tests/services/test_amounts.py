"""What a host's plain SQL may write as an amount: exact decimal text, so that sums never fail or guess."""

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from dashboard.db import Database, transact
from tests import factories

SET = sa.text("UPDATE operations SET amount = :amount")
BAD = ("", "-", ".", ".5", "-.5", "5.", "1.2.3", "1-2", "--1", "1e3", "NaN", " 1", "1 ", "1\n", "1,5", "\u0661")


@pytest.mark.parametrize("amount", ["0", "-1", "19.90", "007", "123456789012345678.123456"])
def test_decimal_text_is_kept_as_it_is(database: Database, amount: str) -> None:
    transact(database, factories.operation)
    transact(database, lambda session: session.execute(SET, {"amount": amount}))
    stored = transact(database, lambda session: session.scalar(sa.text("SELECT amount FROM operations")))
    assert stored == amount


def test_anything_else_is_refused_by_the_database(database: Database) -> None:
    transact(database, factories.operation)
    for amount in BAD:
        with pytest.raises(DBAPIError):
            transact(database, lambda session, amount=amount: session.execute(SET, {"amount": amount}))  # type: ignore[misc]
