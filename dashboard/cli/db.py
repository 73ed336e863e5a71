"""`dashboard db`: bring the tables to this release, and say where they stand."""

import click
from sqlalchemy import inspect

from dashboard.cli.errors import NO_DATABASE
from dashboard.cli.setup import opened_database
from dashboard.config import Settings
from dashboard.models import Record
from dashboard.services import schema


@click.group()
def db() -> None:
    """Make and upgrade the tables, and say where they stand."""


@db.command()
def upgrade() -> None:
    """Bring the database to this release; doing it twice changes nothing."""
    with opened_database(Settings()) as database:
        before = schema.current(database)
        if before == schema.head():
            click.echo(f"The database is at schema {before} already.")
            return
        schema.upgrade(database)
        click.echo(f"The database went from {_told(before)} to {_told(schema.current(database))}.")


@db.command()
def current() -> None:
    """Print the schema that the database is at and the one that this release needs."""
    with opened_database(Settings()) as database:
        click.echo(f"database: {_told(schema.current(database))}\nneeded: {_told(schema.head())}")


@db.command()
@click.pass_context
def check(context: click.Context) -> None:
    """Tell whether the database can be used by this release; exit status 3 if not."""
    with opened_database(Settings()) as database:
        found = schema.current(database)
        missing = sorted(set(Record.metadata.tables) - set(inspect(database.engine).get_table_names()))
    if found != schema.head():
        click.echo(f"The database is at {_told(found)}, needed is {_told(schema.head())}: run `dashboard db upgrade`.")
        context.exit(NO_DATABASE)
    if missing:
        click.echo(f"These tables are missing although the schema is right: {', '.join(missing)}. Restore a backup.")
        context.exit(NO_DATABASE)
    click.echo(f"The database is ready: {_told(found)}.")


def _told(revision: str | None) -> str:
    return f"schema {revision}" if revision else "no schema"
