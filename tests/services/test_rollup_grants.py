"""A host whose account may write operations and nothing else is counted like anybody."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from dashboard.db import Database, reading, transact, transaction
from dashboard.domain.facts import Fact, Period
from dashboard.domain.permissions import Scope
from dashboard.queries import trends
from tests import factories

PERIOD = Period.of(days=30, now=factories.NOW)
GRANTS = {
    "postgresql": (
        "CREATE USER host_app PASSWORD 'choose one'",
        "GRANT SELECT, INSERT, UPDATE ON operations TO host_app",
        "GRANT USAGE, SELECT ON SEQUENCE operations_id_seq TO host_app",
    ),
    "mysql": (
        # A new server lets anybody in from its own machine, and that entry would be taken for ours.
        "DROP USER IF EXISTS ''@localhost",
        "CREATE USER host_app@'%%' IDENTIFIED BY 'choose one'",
        "GRANT SELECT, INSERT, UPDATE ON operations TO host_app@'%%'",
    ),
}
REVOKES = {"postgresql": ("DROP OWNED BY host_app", "DROP USER host_app"), "mysql": ("DROP USER host_app@'%%'",)}


@pytest.fixture
def host(database: Database) -> Iterator[Database]:
    """The database as the host's own user reaches it."""
    _run(database, GRANTS[database.dialect])
    url = database.url.set(username="host_app", password="choose one")
    host = Database(url.render_as_string(hide_password=False))
    yield host
    host.dispose()
    _run(database, REVOKES[database.dialect])


def _run(database: Database, statements: tuple[str, ...]) -> None:
    with database.engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


@pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"])
def test_a_host_without_rights_on_the_counters_is_counted(database: Database, host: Database) -> None:
    transact(host, lambda session: factories.operation(session, verdict="absent").id)
    with reading(database) as session:
        found = trends.counts(session, fact=Fact.VERDICT, period=PERIOD, scopes=(Scope(None, None),))
    assert found.by_label == {"absent": 1}
    with pytest.raises(DBAPIError, match="denied"), reading(host) as session:
        session.execute(sa.text("SELECT * FROM rollup_deltas"))


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_a_table_of_the_hosts_own_takes_no_note_away(database: Database, host: Database) -> None:
    with transaction(host) as session:
        session.execute(sa.text("CREATE TEMPORARY TABLE rollup_deltas (LIKE operations)"))
        factories.operation(session)
    with reading(database) as session:
        assert trends.freshness(session).unfolded == 1
