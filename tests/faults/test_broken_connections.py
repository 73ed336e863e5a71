from typing import Any

import pytest
import sqlalchemy as sa

from dashboard.db import Database
from dashboard.services import work
from tests.faults.conftest import Shop


def end_connection_once(database: Database, *, at: str) -> list[str]:
    """Let the server end our connection when it is about to run a statement that begins like this."""
    ended: list[str] = []
    other = Database(database.url.render_as_string(hide_password=False))

    def end(_connection: Any, cursor: Any, statement: str, *_rest: object) -> None:
        if ended or not statement.startswith(at):
            return
        ended.append(statement)
        postgresql = database.dialect == "postgresql"
        own = cursor.connection.info.backend_pid if postgresql else cursor.connection.thread_id()
        words = f"SELECT pg_terminate_backend({own})" if postgresql else f"KILL {own}"
        with other.engine.connect() as connection:
            connection.execute(sa.text(words))
        other.dispose()

    sa.event.listen(database.engine, "before_cursor_execute", end)
    return ended


@pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"], indirect=True)
@pytest.mark.parametrize("at", ["SELECT operations.id", "UPDATE operations SET", "INSERT INTO operation_events"])
def test_a_connection_that_ends_in_a_transaction_loses_nothing(
    engine_name: str, request: pytest.FixtureRequest, shop: Shop, at: str
) -> None:
    """Fault 20: the claim is made again by the next round, an outcome is recorded over a new connection."""
    shop.register()
    own = Shop(Database(shop.database.url.render_as_string(hide_password=False)))
    ended = end_connection_once(own.database, at=at)
    for _ in range(2):
        try:
            own.send()
        except sa.exc.OperationalError:
            assert ended
    assert ended
    own.database.dispose()
    assert shop.facts() == (1, "confirmed")
    assert shop.path() == ["pending", "processing", "confirmed"]


@pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"], indirect=True)
def test_an_outcome_is_recorded_over_a_new_connection(shop: Shop) -> None:
    shop.register()
    own = Shop(Database(shop.database.url.render_as_string(hide_password=False)))
    (claimed,) = work.claim(own.database, own.context(), limit=1)
    ended = end_connection_once(own.database, at="UPDATE operations SET")
    work.perform(own.database, own.context(), claimed)
    assert ended
    own.database.dispose()
    assert shop.facts() == (1, "confirmed")
