"""The grants of docs/security.md: the application can do its work, and can neither change the log nor its triggers."""

import re
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dashboard.db import Database, transact
from dashboard.models import AuditEntry, Operation
from dashboard.services import schema
from tests import factories
from tests.architecture.tree import ROOT
from tests.services.tampering import append_some, verified

HEADINGS = {"postgresql": "#### PostgreSQL", "mysql": "#### MariaDB"}
DROP_TRIGGER = {
    "postgresql": "DROP TRIGGER audit_log_no_change ON audit_log",
    "mysql": "DROP TRIGGER audit_log_no_update",
}
REFUSED = (
    "DELETE FROM audit_log",
    "UPDATE audit_log SET reason = 'other'",
    "TRUNCATE TABLE audit_log",
    "DROP TABLE audit_log",
    "ALTER TABLE audit_log ADD COLUMN more INTEGER",
    "DELETE FROM audit_head",
    "INSERT INTO audit_head (id) VALUES (2)",
    "UPDATE schema_version SET version_num = '0001'",
)
REFUSED_HERE = {
    "postgresql": (
        DROP_TRIGGER["postgresql"],
        "ALTER TABLE audit_log DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "CREATE TRIGGER mine BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_refuse()",
    ),
    "mysql": (
        DROP_TRIGGER["mysql"],
        "CREATE TRIGGER mine BEFORE INSERT ON audit_log FOR EACH ROW SET NEW.reason = 'x'",
    ),
}

pytestmark = pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"])


@pytest.fixture
def granted(empty_database: Database) -> Iterator[Database]:
    """A migrated database as the application's own user reaches it."""
    schema.upgrade(empty_database)
    with empty_database.engine.begin() as connection:
        connection.execute(sa.text("DROP USER IF EXISTS dashboard_app"))
        if empty_database.dialect == "mysql":
            # A new server lets anybody in from its own machine, and that entry would be taken for ours.
            connection.execute(sa.text("DROP USER IF EXISTS ''@localhost"))
        for statement in documented(empty_database.dialect):
            run(connection, statement)
    url = empty_database.url.set(username="dashboard_app", password="choose one")
    database = Database(url.render_as_string(hide_password=False))
    yield database
    database.dispose()
    with empty_database.engine.begin() as connection:
        if empty_database.dialect == "postgresql":
            connection.execute(sa.text("DROP OWNED BY dashboard_app"))
        connection.execute(sa.text("DROP USER dashboard_app"))


def documented(dialect: str) -> list[str]:
    """The statements of the engine's chapter, in order."""
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    chapter = text.partition(HEADINGS[dialect])[2].partition("\n####")[0]
    blocks = re.findall(r"```sql\n(.*?)```", chapter, re.DOTALL)
    return [statement.strip() for block in blocks for statement in block.split(";") if statement.strip()]


def run(connection: sa.Connection, statement: str) -> None:
    """Run a statement; one that prints statements has those run."""
    result = connection.exec_driver_sql(statement.replace("%", "%%"))
    for printed in result.scalars().all() if result.returns_rows else ():
        run(connection, str(printed))


def test_the_application_can_do_its_work(granted: Database) -> None:
    def unit(session: Session) -> None:
        operation = factories.operation(session)
        factories.event(session, operation)
        operation.attempts = 2

    transact(granted, unit)
    append_some(granted, 3)
    assert verified(granted).checked == 3
    assert schema.current(granted) == schema.head()
    transact(granted, lambda session: session.execute(sa.delete(Operation).where(Operation.id < 0)))


def test_the_application_can_change_neither_log_nor_triggers(granted: Database) -> None:
    append_some(granted, 2)
    for statement in (*REFUSED, *REFUSED_HERE[granted.dialect]):
        with pytest.raises(DBAPIError), granted.engine.begin() as connection:
            connection.exec_driver_sql(statement)
    assert verified(granted).checked == 2


def test_without_triggers_the_grants_still_refuse(granted: Database, empty_database: Database) -> None:
    append_some(granted, 2)
    with empty_database.engine.begin() as owner:
        owner.exec_driver_sql(DROP_TRIGGER[granted.dialect])
    with pytest.raises(DBAPIError, match="denied"), granted.engine.begin() as connection:
        connection.execute(sa.update(AuditEntry).values(reason="other"))
