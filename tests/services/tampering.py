"""What somebody with the database's own rights does to the audit log: the triggers are off for a while."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.orm import Session

from dashboard import ddl
from dashboard.db import Database, transact
from dashboard.domain.permissions import Role
from dashboard.models import AuditEntry
from dashboard.services import audit
from tests import factories

UNCHECKED = {
    "mysql": "SET foreign_key_checks = 0",
    "postgresql": "SET LOCAL session_replication_role = replica",
}


def tamper(database: Database, *statements: str | sa.Update) -> None:
    """Run statements with the triggers dropped and foreign keys not checked, and put all back as it was."""
    with unguarded(database) as run:
        for statement in statements:
            run(statement)


def append_some(database: Database, count: int, **values: Any) -> None:
    """Append so many entries, each with all columns filled."""

    def unit(session: Session) -> None:
        for number in range(count):
            audit.append(
                session,
                **{
                    "actor": factories.actor(Role.OPERATOR),
                    "action": "requeue",
                    "subject": f"op-{number}",
                    "now": factories.NOW,
                    "tenant": "tienda-es",
                    "type": "charge_order",
                    "before": {"state": "manual_review"},
                    "after": {"state": "retry_scheduled"},
                    "reason": factories.NOTE,
                    "evidence": {"number": number},
                    **values,
                },
            )

    transact(database, unit)


def verified(database: Database) -> audit.Verification:
    with database.engine.connect() as connection, Session(connection) as session:
        return audit.verify(session)


def entry(database: Database, seq: int) -> AuditEntry:
    with Session(database.engine) as session:
        return session.get_one(AuditEntry, seq)


@contextmanager
def unguarded(database: Database) -> Iterator[Callable[[str | sa.Update], None]]:
    """Give what runs a statement and commits it."""
    # An engine without our settings: SQLite then leaves foreign keys unchecked.
    engine = sa.create_engine(database.url, poolclass=sa.NullPool)
    with _no_triggers(engine):
        yield lambda statement: _run(engine, statement)


def _run(engine: sa.Engine, statement: str | sa.Update) -> None:
    with engine.begin() as connection:
        if engine.dialect.name != "sqlite":
            connection.exec_driver_sql(UNCHECKED[engine.dialect.name])
        connection.execute(sa.text(statement) if isinstance(statement, str) else statement)


@contextmanager
def _no_triggers(engine: sa.Engine) -> Iterator[None]:
    with engine.begin() as connection, Operations.context(MigrationContext.configure(connection)):
        ddl.allow_changes("audit_log")
    try:
        yield
    finally:
        _put_back(engine)


def _put_back(engine: sa.Engine) -> None:
    with engine.begin() as connection, Operations.context(MigrationContext.configure(connection)):
        ddl.refuse_changes("audit_log", "seq")
