"""The statements of docs/integrate-sql.md, as a host runs them, and what they leave in the tables."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import CursorResult, RowMapping, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact
from tests.architecture.tree import ROOT

DOCUMENT = (ROOT / "docs" / "integrate-sql.md").read_text(encoding="utf-8")
SECRETS = {"id", "key", "operation_id", "record_id", "idempotency_key", "owner_token", "lease_token", "message_id"}
DIALECTS = {"postgresql": "postgresql", "mysql": "mariadb"}


def statements(engine: str) -> dict[str, str]:
    """The document's statements for `postgresql` or `mariadb`, by name."""
    found = re.findall(r"```sql (\w+) (\w+)\n(.*?)\n```", DOCUMENT, re.DOTALL)
    return {name: sql for which, name, sql in found if which in {engine, "both"}}


class Door:
    """A host's connection; `run` executes a statement of the document by its name."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._statements = statements(DIALECTS[session.get_bind().dialect.name])

    def run(self, name: str, **values: object) -> CursorResult[Any]:
        return self._session.connection().execute(text(self._statements[name]), values)

    def changed(self, name: str, **values: object) -> int:
        """How many rows a statement changed; 0 as well where MariaDB says that the key is there already."""
        try:
            return self.run(name, **values).rowcount
        except IntegrityError:
            return 0

    def row(self, name: str, **values: object) -> RowMapping:
        return self.run(name, **values).mappings().one()


def shape(row: Any) -> dict[str, Any]:
    """A row without what differs by name: ids and tokens say whether they are set, times how far from the beginning."""
    columns = {column.name: getattr(row, column.name) for column in row.__table__.columns}
    began = columns.get("created_at") or columns["at"]
    return {name: _shape(name, value, began) for name, value in columns.items()}


def _shape(name: str, value: object, began: datetime) -> object:
    if name in SECRETS:
        return value is not None
    if isinstance(value, datetime):
        return round((value - began).total_seconds() / 30)
    return value


def rows(database: Database, model: Any) -> list[dict[str, Any]]:
    with reading(database) as session:
        return [shape(row) for row in session.scalars(select(model).order_by(model.id))]


def pairs(database: Database, model: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The rows of the Python door beside those of the SQL door, which came after."""
    found = rows(database, model)
    half = len(found) // 2
    assert half
    assert len(found) == 2 * half
    return list(zip(found[:half], found[half:], strict=True))


def in_sql(database: Database, unit: Callable[[Door], Any]) -> Any:
    return transact(database, lambda session: unit(Door(session)))
