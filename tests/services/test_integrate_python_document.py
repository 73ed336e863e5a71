"""The code of docs/integrate-python.md runs as it stands there."""

import re
from pathlib import Path
from typing import Any

from sqlalchemy import select

from dashboard import ledger
from dashboard.db import Database, reading, transact, transaction
from dashboard.models import Operation

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "integrate-python.md"


def test_the_examples_register_send_and_confirm(sqlite_database: Database) -> None:
    names: dict[str, Any] = {
        "DATABASE_URL": sqlite_database.url.render_as_string(hide_password=False),
        "load_customer": lambda order: order,
        "charge_card": lambda *_order, **_key: {"id": "ch_1", "status": "paid"},
        "order_is_locked": lambda _order: False,
        "order_parcel": lambda _expected: "parcel-1",
    }
    for block in re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)  # noqa: S102 - the document is ours
    for order in ("1", "2"):
        with transaction(sqlite_database) as session:
            names["place_order"](session, order, "10.00")
    (mine,) = ledger.claim(sqlite_database, types={"charge_order"}, limit=1)
    transact(sqlite_database, lambda session: names["charge_and_note"](session, mine))
    names["work_off"]()
    names["database"].dispose()
    with reading(sqlite_database) as session:
        assert set(session.scalars(select(Operation.state))) == {"confirmed"}
