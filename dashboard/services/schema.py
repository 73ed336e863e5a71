"""Bring a database to the schema this release needs, and say where it stands."""

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from dashboard.db import Database
from dashboard.resources import resource_dir

VERSION_TABLE = "schema_version"


def upgrade(database: Database, revision: str = "head") -> None:
    """Apply the migrations up to `revision`; doing it twice changes nothing."""
    with database.engine.begin() as connection:
        command.upgrade(_config(connection), revision)


def downgrade(database: Database, revision: str = "base") -> None:
    """Take migrations back down to `revision`; `base` leaves nothing."""
    with database.engine.begin() as connection:
        command.downgrade(_config(connection), revision)


def current(database: Database) -> str | None:
    """The revision the database is at, or None where it has no schema of ours."""
    # Looking must not wait for who writes, as a transaction on SQLite otherwise does from its beginning.
    with database.engine.execution_options(begin="DEFERRED").connect() as connection:
        return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_revision()


def head() -> str:
    """The revision this release needs."""
    revision = ScriptDirectory(str(resource_dir("migrations"))).get_current_head()
    if revision is None:
        raise LookupError("the migrations folder is empty")
    return revision


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(resource_dir("migrations")))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
