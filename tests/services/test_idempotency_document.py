"""The code in docs/idempotency.md runs, and does what the document says."""

import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from dashboard.db import Database
from dashboard.domain.fingerprint import fingerprint, parse_payload
from dashboard.idempotency.answers import TITLES
from tests.services.reserving import record

DOCUMENT = (Path(__file__).parents[2] / "docs" / "idempotency.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
KEY = {"Idempotency-Key": '"7c0f1a9e-452"'}


@pytest.fixture
def shop(sqlite_database: Database) -> dict[str, Any]:
    """What the document's code defines, on a database of the test's own."""
    charged: list[str] = []

    def charge_card(order: str, _total: str) -> str:
        charged.append(order)
        return f"ch_{order}"

    names: dict[str, Any] = {
        "__name__": __name__,
        "price_of": lambda _order: "318.93",
        "charge_card": charge_card,
        "may_charge": lambda _environ: True,
        "charged": charged,
    }
    url = sqlite_database.url.render_as_string(hide_password=False)
    for code in CODE:
        exec(code.replace("postgresql://shop@db/shop", url), names)  # noqa: S102 - it is the document's own
    return names


@pytest.mark.parametrize("guarded", [False, True])
def test_the_protected_address_does_what_the_table_says(
    shop: dict[str, Any], sqlite_database: Database, *, guarded: bool
) -> None:
    client = shop["app"].test_client()
    if guarded:
        shop["app"].view_functions["charge"] = lambda order: {"charge": shop["charge_card"](order, "1")}
        shop["app"].wsgi_app = shop["guarded"](shop["app"].wsgi_app)
    first, again = (client.post("/orders/452/charge", json={"amount": "318.93"}, headers=KEY) for _ in range(2))
    other = client.post("/orders/452/charge", json={"amount": "1"}, headers=KEY)
    assert (first.json, again.data, other.status_code) == ({"charge": "ch_452"}, first.data, 409)
    assert (shop["charged"], record(sqlite_database).key) == (["452"], "7c0f1a9e-452")
    shop["door"].database.dispose()


def test_an_event_delivered_three_times_has_one_effect(shop: dict[str, Any], sqlite_database: Database) -> None:
    event = {"source": "/shops/es", "id": "evt_1", "data": {"customer": "1349", "amount": "10.00"}}
    for _ in range(3):
        with Session(shop["door"].database.engine) as session:
            assert shop["on_event"](session, event) == b"granted"
            session.commit()
    row = record(sqlite_database)
    assert (row.key, row.replay_count) == ("/shops/es#evt_1", 2)
    shop["door"].database.dispose()


def test_the_codes_of_the_document_are_those_of_the_layer() -> None:
    named = set(re.findall(r"`((?:idempotency|payload)_[a-z_]+)`", DOCUMENT))
    assert named - {"idempotency_key"} == {
        *TITLES,
    } - {"idempotency_key_unquoted"}


def test_the_fingerprint_of_the_document_is_right() -> None:
    body, expected = re.findall(r"```\n(\{.*\})\n([0-9a-f]{64})\n```", DOCUMENT)[0]
    assert fingerprint(parse_payload(body)) == expected
