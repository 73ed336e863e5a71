"""`dashboard rollup`: the counters that figures of history are read from."""

from collections.abc import Sequence
from datetime import date, datetime

import click

from dashboard.cli.progress import shown_progress
from dashboard.cli.setup import ready_database
from dashboard.cli.stopping import stopping_gently
from dashboard.config import Settings
from dashboard.services import rollup_checks, rollup_rebuild, rollups

MOST_TOLD = 100
DAYS = click.option(
    "--day", "days", type=click.DateTime(["%Y-%m-%d"]), multiple=True, help="Only this UTC day; may repeat."
)


@click.group()
def rollup() -> None:
    """Fold, check and rebuild the figures of history.

    Triggers note each change of an operation, whoever makes it; the worker folds what they note into counters by day.
    """


@rollup.command()
@click.pass_context
def fold(context: click.Context) -> None:
    """Fold all that is noted into the counters, as the worker does every few seconds."""
    with ready_database(Settings()) as database, stopping_gently() as stopping, shown_progress("changes") as show:
        folded = rollups.fold(database, progress=lambda done: show(done, 0), stop=stopping.stop.is_set)
    click.echo(f"{folded:,} changes folded.")
    context.exit(stopping.status)


@rollup.command()
@DAYS
@click.pass_context
def rebuild(context: click.Context, *, days: Sequence[datetime]) -> None:
    """Count anew from the tables, a day at a time, while others go on writing."""
    with ready_database(Settings()) as database, stopping_gently() as stopping, shown_progress("days") as show:
        rebuilt = rollup_rebuild.rebuild(
            database, days=_dates(days), progress=lambda done: show(done, 0), stop=stopping.stop.is_set
        )
    click.echo(f"{rebuilt:,} days counted anew.")
    context.exit(stopping.status)


@rollup.command()
@DAYS
@click.pass_context
def check(context: click.Context, *, days: Sequence[datetime]) -> None:
    """Compare the counters with the tables, and name each figure that differs; exit status 1 if any does."""
    with ready_database(Settings()) as database, stopping_gently() as stopping, shown_progress("days") as show:
        drifts = rollup_checks.check(
            database, days=_dates(days), progress=lambda done: show(done, 0), stop=stopping.stop.is_set
        )
    for drift in drifts[:MOST_TOLD]:
        click.echo(str(drift))
    if len(drifts) > MOST_TOLD:
        click.echo(f"and {len(drifts) - MOST_TOLD:,} more")
    if not stopping.status:
        click.echo(_verdict(drifts, days))
    context.exit(stopping.status or int(bool(drifts)))


def _dates(days: Sequence[datetime]) -> list[date] | None:
    return [day.date() for day in days] or None


def _verdict(drifts: Sequence[rollup_checks.Drift], days: Sequence[datetime]) -> str:
    if not drifts:
        return "The figures of these days are what the tables say." if days else "All figures are what the tables say."
    mended = " ".join(f"--day {day}" for day in sorted({drift.day for drift in drifts})[:10])
    return f"{len(drifts):,} figures differ. `dashboard rollup rebuild {mended}` counts them anew."
