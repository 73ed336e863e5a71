"""`dashboard bench`: how much this machine and its database do, measured on a scratch database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import click

from dashboard.bench import keying, machine, relaying, workers
from dashboard.bench import scratch as fill
from dashboard.cli import bench_pages, bench_rates
from dashboard.cli.errors import FINDINGS
from dashboard.cli.progress import shown_progress
from dashboard.cli.relay import MOST_LANES
from dashboard.cli.setup import ready_database
from dashboard.config import Settings
from dashboard.db import Database
from dashboard.services.relay import LANES

COUNT = click.IntRange(min=1)
HISTORY = click.IntRange(min=0)
MOST_WORKERS = 64
MILLISECOND = timedelta(milliseconds=1)
REFUSED = (
    "The database of DASHBOARD_DATABASE_URL is not empty, and a benchmark fills it: name an empty one. "
    "--scratch allows what earlier benchmarks left, never anything else."
)

scratch_option = click.option("--scratch", is_flag=True, help="The database may hold what earlier benchmarks left.")


@click.group()
def bench() -> None:
    """Measure on a scratch database; it stays filled. Exit status 1: something was handled twice or lost."""


bench.add_command(bench_pages.pages)
bench.add_command(bench_pages.table)
bench.add_command(bench_rates.measure)


@bench.command()
@click.option("--operations", default=20_000, show_default=True, type=COUNT, help="Due operations to drain.")
@click.option("--workers", "count", default=4, show_default=True, type=click.IntRange(1, MOST_WORKERS))
@click.option("--history", default=0, show_default=True, type=HISTORY, help="Confirmed operations to add before.")
@scratch_option
@click.pass_context
def worker(context: click.Context, *, operations: int, count: int, history: int, scratch: bool) -> None:
    """Let worker processes with a handler that does nothing drain due operations, and count each."""
    with _fillable_database(scratch=scratch) as (database, url):
        where = _where(database)
        with _progress("operations of history added") as progress:
            fill.add_finished_operations(database, operations=history, progress=progress)
        with _progress("operations registered") as progress:
            after = fill.register_due(database, operations=operations, progress=progress)
        with _progress("operations drained") as progress:
            drained = workers.drain(
                database, url=url, operations=operations, after=after, workers=count, progress=progress
            )
    took = drained.took
    click.echo(f"{operations:,} operations in {took.total_seconds():.1f} s: {_rate(operations, took)} a second")
    for name, done in drained.by_worker.items():
        click.echo(f"  {name}: {done:,}, {_rate(done, took)} a second")
    click.echo(f"  processor time of the workers: {drained.cpu / operations / MILLISECOND:.1f} ms an operation")
    click.echo(where)
    _end(context, twice=drained.twice, lost=drained.lost, noun="operations", said=drained.said)


@bench.command()
@click.option("--messages", default=10_000, show_default=True, type=COUNT, help="Due messages to publish.")
@click.option("--keys", default=fill.KEYS, show_default=True, type=COUNT, help="Among how many keys they are spread.")
@click.option("--lanes", default=LANES, show_default=True, type=click.IntRange(1, MOST_LANES))
@click.option("--history", default=0, show_default=True, type=HISTORY, help="Published messages to add before.")
@scratch_option
@click.pass_context
def relay(context: click.Context, *, messages: int, keys: int, lanes: int, history: int, scratch: bool) -> None:
    """Let a relay process publish due messages to a webhook on loopback, and count each."""
    with _fillable_database(scratch=scratch) as (database, url):
        where = _where(database)
        with _progress("messages of history added") as progress:
            fill.add_published_messages(database, messages=history, progress=progress)
        with _progress("messages written") as progress:
            after = fill.enqueue_due(database, messages=messages, keys=keys, progress=progress)
        with _progress("messages published") as progress:
            relayed = relaying.relay(database, url=url, messages=messages, after=after, lanes=lanes, progress=progress)
    took = relayed.took
    click.echo(f"{messages:,} messages in {took.total_seconds():.1f} s: {_rate(messages, took)} a second")
    click.echo(where)
    _end(context, twice=relayed.twice, lost=relayed.lost, noun="messages", said=relayed.said)


@bench.command()
@click.option("--pairs", default=1000, show_default=True, type=COUNT, help="Keys to reserve and complete.")
@click.option("--requests", default=300, show_default=True, type=COUNT, help="Requests of each kind.")
@scratch_option
def idempotency(*, pairs: int, requests: int, scratch: bool) -> None:
    """Measure what a key costs: beside a bare INSERT and UPDATE, and beside a request without one."""
    with _fillable_database(scratch=scratch) as (database, _url):
        where = _where(database)
        with _progress("keys reserved") as progress:
            bare, kept = keying.pairs(database, count=pairs, progress=progress)
        with _progress("requests sent") as progress:
            costs = keying.requests(database, count=requests, progress=progress)
    click.echo(f"A bare INSERT and UPDATE: {_usual(bare)}")
    click.echo(f"Reserve and complete:      {_usual(kept)}, {_times(kept, bare)}")
    plain = costs[keying.PLAIN]
    click.echo(f"A request without a key:   {_usual(plain)}")
    click.echo(
        f"With a new key:            {_usual(costs[keying.PROTECTED])}, {_times(costs[keying.PROTECTED], plain)}"
    )
    click.echo(f"With a known key:          {_usual(costs[keying.AGAIN])}, {_times(costs[keying.AGAIN], plain)}")
    click.echo(where)


def _usual(cost: keying.Cost) -> str:
    """How many a second, and the milliseconds of one, with those of this process alone."""
    wall, processor = (keying.usual(seconds) for seconds in (cost.wall, cost.processor))
    return f"{1 / wall:,.0f} a second, {wall * 1000:.2f} ms each, {processor * 1000:.2f} ms of it our own"


def _times(cost: keying.Cost, base: keying.Cost) -> str:
    return f"{keying.usual(cost.wall) / keying.usual(base.wall):.2f} times"


@contextmanager
def _fillable_database(*, scratch: bool) -> Iterator[tuple[Database, str]]:
    settings = Settings()
    with ready_database(settings) as database:
        if not fill.may_fill(database, scratch=scratch):
            raise click.UsageError(REFUSED)
        yield database, settings.database_url


@contextmanager
def _progress(noun: str) -> Iterator[Callable[[int], None]]:
    with shown_progress(noun) as show:
        yield lambda done: show(done, 0)


def _where(database: Database) -> str:
    """The engine and the machine as they are before the run."""
    return f"Engine:  {machine.engine(database)}\nMachine: {machine.machine()}"


def _rate(count: int, took: timedelta) -> str:
    return f"{count / max(took.total_seconds(), 0.001):,.0f}"


def _end(context: click.Context, *, twice: int, lost: int, noun: str, said: str) -> None:
    click.echo(f"{twice:,} {noun} handled twice, {lost:,} lost.")
    if twice or lost:
        click.echo(f"The last line of the log: {said}", err=True)
        context.exit(FINDINGS)
