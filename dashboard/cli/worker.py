"""`dashboard worker`: everything periodic, until it is told to stop."""

import logging

import click

from dashboard.adapters.mail import mail_server
from dashboard.cli.errors import FINDINGS
from dashboard.cli.setup import ready_database
from dashboard.cli.stopping import stopping_gently
from dashboard.config import Settings
from dashboard.db import Database
from dashboard.ledger import worker_actor
from dashboard.logs import configure
from dashboard.services import handlers as registries
from dashboard.services import work
from dashboard.services.policies import load_policies

MOST_THREADS = 64


@click.command()
@click.option("--handlers", metavar="MODULE:NAME", help="The host's Handlers; without it nothing is sent from here.")
@click.option("--once", is_flag=True, help="Work off what is due, then exit.")
@click.option(
    "--concurrency",
    default=1,
    show_default=True,
    type=click.IntRange(1, MOST_THREADS),
    help="Handlers that run side by side.",
)
@click.pass_context
def worker(context: click.Context, *, handlers: str | None, once: bool, concurrency: int) -> None:
    """Send what is due, rescue, reconcile and publish; any number of workers may share a database.

    Ctrl-C or SIGTERM finishes what was begun, puts the rest back and exits; a second one exits at once.
    """
    configure(level=logging.INFO)
    settings = Settings()
    policies = load_policies(settings.policies)
    registry = registries.load(handlers) if handlers else registries.Handlers()
    with ready_database(settings):
        database = Database(settings.database_url, pool_size=concurrency + len(work.PIECES))
    with stopping_gently() as stopping:
        working = work.Context(
            policies,
            worker_actor(),
            registry,
            concurrency,
            stop=stopping.stop,
            mail=mail_server(settings),
            public_url=settings.public_url,
            environment=settings.environment,
        )
        click.echo(f"Working as {working.actor.id}, sending {', '.join(sorted(registry.types)) or 'nothing'}.")
        with working.relay:
            run = work.run_once if once else work.run
            finished = run(database, working)
    database.dispose()
    if stopping.status or finished is False:
        context.exit(stopping.status or FINDINGS)
