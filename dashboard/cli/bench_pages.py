"""`dashboard bench pages`: every page on a shop of any size, beside its floor."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from dashboard.bench import filling, machine, measuring, peering, shop, tables
from dashboard.bench.measuring import Measured, Run
from dashboard.cli.demo_shop import POLICIES
from dashboard.cli.errors import FINDINGS
from dashboard.cli.progress import shown_progress
from dashboard.cli.setup import ready_database
from dashboard.config import Settings
from dashboard.db import Database

REFUSED = (
    "The database of DASHBOARD_DATABASE_URL is neither empty nor what this command filled with {size:,} operations, "
    "{open:,} of them open: name an empty one."
)
NOT_FILLED = "The database of --smaller is not one that this command filled: fill it with --fill-only first."
RESULT = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@click.command()
@click.option("--operations", default=100_000, show_default=True, type=click.IntRange(min=400))
@click.option("--open", "open_", type=click.IntRange(min=1), help="How many of them are open.  [default: 5 of 1,000]")
@click.option("--seed", default=1, show_default=True, type=int, help="The same seed makes the same shop.")
@click.option("--repeat", default=measuring.REPEAT, show_default=True, type=click.IntRange(min=1))
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), help="Keep the result in this file, as JSON.")
@click.option(
    "--smaller", envvar="DASHBOARD_BENCH_SMALLER", help="URL of a smaller one that was filled: how pages grew."
)
@click.option("--peers", type=RESULT, help="A Python that has Flask-Admin and SQLAdmin; default: this one.")
@click.option("--fill-only", is_flag=True, help="Fill the database and measure nothing.")
@click.pass_context
def pages(
    context: click.Context,
    *,
    operations: int,
    open_: int | None,
    seed: int,
    repeat: int,
    save: Path | None,
    smaller: str | None,
    peers: Path | None,
    fill_only: bool,
) -> None:
    """Fill an empty database with a shop and visit every page, beside the same SQL by hand and a minimal page.

    A database that an earlier run filled alike is used as it is; with --smaller each page is visited in turn with its
    like there. The table at the end is Markdown. Exit status 1: a page failed.
    """
    size = shop.size_of(operations, open=open_, seed=seed)
    settings = Settings()
    with ready_database(settings) as database, _smaller(settings, smaller) as beside:
        _fill(database, size)
        if fill_only:
            return
        engine, where = machine.engine(database), machine.machine()
        found = measuring.measure(database, policies=POLICIES, smaller=beside, repeat=repeat, told=_tell)
        of_smaller = filling.filled(beside) if beside else None
    run = Run(
        engine=engine,
        machine=where,
        date=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        command=_typed(smaller),
        filled={"operations": size.operations, "open": size.open, "seed": size.seed},
        pages=found,
        peers=peering.beside(settings.database_url, python=peers),
        smaller=of_smaller.operations if of_smaller else None,
    )
    if save:
        measuring.save(run, save)
    click.echo(tables.table(run), nl=False)
    if any(page.status not in measuring.OK for page in found):
        context.exit(FINDINGS)


@click.command()
@click.argument("result", type=RESULT)
def table(*, result: Path) -> None:
    """Print the table of a result that `bench pages` kept."""
    click.echo(tables.table(measuring.load(result)), nl=False)


def _typed(secret: str | None) -> str:
    """The command as it was typed, without the URL, which may hold a password."""
    typed = " ".join(["dashboard", *sys.argv[1:]])
    return typed.replace(secret, "URL") if secret else typed


@contextmanager
def _smaller(settings: Settings, url: str | None) -> Iterator[Database | None]:
    if url is None:
        yield None
        return
    with ready_database(settings.model_copy(update={"database_url": url})) as database:
        if filling.filled(database) is None:
            raise click.UsageError(NOT_FILLED)
        yield database


def _fill(database: Database, size: shop.Size) -> None:
    if filling.filled(database) == size:
        return
    if not filling.is_empty(database):
        raise click.UsageError(REFUSED.format(size=size.operations, open=size.open))
    with shown_progress("operations filled in") as show, shown_progress("days counted") as days:
        filling.fill(database, size, progress=lambda done: show(done, 0), days=lambda done: days(done, 0))


def _tell(page: Measured) -> None:
    click.echo(tables.line(page), err=True)
