"""`dashboard relay`: publish what waits in the outbox."""

import logging

import click

from dashboard.cli.errors import FINDINGS
from dashboard.cli.setup import command_line_actor, ready_database
from dashboard.cli.stopping import stopping_gently
from dashboard.config import Settings
from dashboard.db import Database
from dashboard.logs import configure
from dashboard.services import work
from dashboard.services.policies import load_policies
from dashboard.services.relay import LANES, Relay
from dashboard.services.relay_batch import Tally

MOST_LANES = 64


@click.command()
@click.option("--once", is_flag=True, help="Publish what is due, then exit.")
@click.option(
    "--lanes",
    default=LANES,
    show_default=True,
    type=click.IntRange(1, MOST_LANES),
    help="Messages that are sent side by side; a crash sends so many a second time at most.",
)
@click.pass_context
def relay(context: click.Context, *, once: bool, lanes: int) -> None:
    """Publish outbox messages to the sinks of the policy file; any number of relays may share a database.

    The worker does this too; a relay of its own is for when publishing needs more than one process. Ctrl-C or
    SIGTERM finishes what is being sent, gives the rest back and exits.
    """
    configure(level=logging.INFO)
    settings = Settings()
    policies = load_policies(settings.policies)
    if not policies.sinks:
        raise click.UsageError("The policy file in DASHBOARD_POLICIES names no sinks: add a table [sinks.NAME].")
    total = Tally()
    with ready_database(settings) as database, stopping_gently() as stopping, Relay(lanes=lanes) as publishing:

        def publish(database: Database, working: work.Context) -> bool:
            nonlocal total
            tally = publishing.run_once(database, sinks=working.policies.sinks, stop=working.stop.is_set)
            total += tally
            return bool(tally)

        working = work.Context(policies, command_line_actor(), stop=stopping.stop)
        run = work.run_once if once else work.run
        finished = run(database, working, pieces=(work.Piece("relay", publish),))
    click.echo(_told(total))
    if stopping.status or finished is False:
        context.exit(stopping.status or FINDINGS)


def _told(total: Tally) -> str:
    return (
        f"{total.published:,} published, {total.failed:,} to be tried again, {total.dead:,} dead, "
        f"{total.released:,} given back."
    )
