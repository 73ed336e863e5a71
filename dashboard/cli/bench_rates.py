"""`dashboard bench rates`: claims, import, and the audit log."""

import click

from dashboard.bench import filling, machine, rates
from dashboard.bench.rates import Rate
from dashboard.bench.scratch import may_fill
from dashboard.cli.demo_shop import POLICIES
from dashboard.cli.setup import ready_database
from dashboard.config import Settings
from dashboard.services.policies import load_policies

COUNT = click.IntRange(min=1)
REFUSED = "The database of DASHBOARD_DATABASE_URL is neither empty nor filled by a benchmark: name an empty one."


@click.command("rates")
@click.option("--entries", default=500, show_default=True, type=COUNT, help="Audit entries to append.")
@click.option("--imported", default=2000, show_default=True, type=COUNT, help="Operations to import.")
def measure(*, entries: int, imported: int) -> None:
    """Measure claims, import and the audit log on what `bench pages` filled in, or on an empty database.

    Claims are taken back. What is appended stays; operations are imported only where `bench pages` filled nothing in,
    so that its pages show what they showed.
    """
    policies = load_policies(POLICIES)
    with ready_database(Settings()) as database:
        where = f"Engine:  {machine.engine(database)}\nMachine: {machine.machine()}"
        filled = filling.filled(database)
        if not filled and not may_fill(database, scratch=True):
            raise click.UsageError(REFUSED)
        if filled:
            click.echo(f"{filled.operations:,} operations, {filled.open:,} of them open")
            _claims(rates.claims(database, policies=policies))
        else:
            _tell("Import, lines", rates.imported(database, operations=imported, policies=policies))
        _tell("Audit entries appended, each committed", rates.appended(database, entries=entries))
        _tell("Audit entries verified", rates.verified(database))
    click.echo(where)


def _claims(rate: Rate | None) -> None:
    if rate is None:
        click.echo("Claims: nothing is due")
        return
    click.echo(f"A claim of {rate.count}: {rate.seconds * 1000:.1f} ms, taken back")


def _tell(what: str, rate: Rate) -> None:
    click.echo(f"{what}: {rate.count:,} in {rate.seconds:.2f} s, {rate.per_second:,.0f} a second")
