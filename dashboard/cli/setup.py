"""What most commands begin with: the settings, a database that is ready, and who runs the command."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from dashboard.cli.errors import DatabaseNotReadyError
from dashboard.config import Settings
from dashboard.db import Database
from dashboard.domain.permissions import Actor
from dashboard.domain.states import ActorKind
from dashboard.domain.text import visible
from dashboard.services import schema

# An argument that names a file to read.
FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@contextmanager
def opened_database(settings: Settings) -> Iterator[Database]:
    """Open the database for the length of a command, whatever its schema."""
    database = Database(settings.database_url)
    try:
        yield database
    finally:
        database.dispose()


@contextmanager
def ready_database(settings: Settings) -> Iterator[Database]:
    """Open the database; DatabaseNotReadyError if it does not have the schema of this release."""
    with opened_database(settings) as database:
        found = schema.current(database)
        if found != schema.head():
            told = f"at schema {found}" if found else "without our tables"
            raise DatabaseNotReadyError(current=told, needed=f"schema {schema.head()}")
        yield database


def command_line_actor() -> Actor:
    """The account on this machine that runs the command, for the audit log."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "unknown"
    return Actor(ActorKind.SYSTEM, f"command line, {visible(name)}")
