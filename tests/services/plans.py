"""Which indexes the statements of a session read, as SQLite plans them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session


@contextmanager
def plans(session: Session, *, table: str = "operations") -> Iterator[set[str]]:
    """The indexes by which the statements of a block read a table; a step that reads all of it is one of them."""
    found: set[str] = set()
    asked: list[tuple[str, Any]] = []
    connection = session.connection()

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_others: Any) -> None:
        asked.append((statement, parameters))

    sa.event.listen(connection, "before_cursor_execute", note)
    yield found
    sa.event.remove(connection, "before_cursor_execute", note)
    for statement, parameters in asked:
        steps = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
        # The wide columns of one page are fetched by row number.
        reads = [step for step in steps if f" {table}" in step and "USING INTEGER PRIMARY KEY (rowid=?)" not in step]
        found.update(name[1] if (name := re.search(r"INDEX (\S+)", step)) else step for step in reads)
