"""The rules of operations: what is never kept cannot be asked for, and what clients may know is published."""

from datetime import timedelta
from typing import Any

import pytest

from dashboard.db import Database
from dashboard.domain.errors import InvalidInputError
from dashboard.idempotency import Idempotency, PayloadError, RuleBook, Rules


@pytest.mark.parametrize("name", ["Set-Cookie", "authorization", "Date", "Connection", "Content-Length"])
def test_headers_that_are_never_kept_cannot_be_asked_for(name: str) -> None:
    with pytest.raises(ValueError, match="never kept"):
        Rules(headers=frozenset({name}))


@pytest.mark.parametrize("rules", [{"lease": timedelta(0)}, {"retention": timedelta(days=-1)}])
def test_a_length_of_nothing_is_refused(rules: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="longer than nothing"):
        Rules(**rules)


def test_the_rules_are_published_by_operation() -> None:
    book = RuleBook({"charge_order": Rules(retention=timedelta(days=1), ignored=frozenset({"sent_at"}))})
    charge, rest = book.published()
    assert (charge["operation"], charge["retention_seconds"], charge["ignored_fields"]) == (
        "charge_order",
        86400,
        ["sent_at"],
    )
    assert (rest["operation"], rest["retention_seconds"], rest["key_required"]) == ("*", 30 * 86400, True)


@pytest.mark.parametrize(
    ("names", "field"),
    [
        ({"tenant": ""}, "tenant"),
        ({"operation": "x" * 65}, "operation"),
        ({"key": "x" * 256}, "key"),
        ({"key": "a\x00b"}, "key"),
        ({"key": "\ud800"}, "key"),
    ],
)
def test_a_name_that_cannot_be_stored_is_refused(sqlite_database: Database, names: dict[str, str], field: str) -> None:
    door = Idempotency(sqlite_database, b"secret")
    with pytest.raises(InvalidInputError) as refused:
        door.request(**{"tenant": "shop", "operation": "charge_order", "key": "k-1", **names}, payload={})
    assert [problem.field for problem in refused.value.problems] == [field]


def test_a_payload_without_a_meaning_is_refused(sqlite_database: Database) -> None:
    with pytest.raises(PayloadError):
        Idempotency(sqlite_database, b"secret").request(
            tenant="shop", operation="charge_order", key="k-1", payload={"a": float("nan")}
        )
