"""`dashboard retention`: what is settled long enough loses its contents."""

import click

from dashboard.cli.progress import shown_progress
from dashboard.cli.setup import command_line_actor, ready_database
from dashboard.cli.stopping import stopping_gently
from dashboard.config import Settings
from dashboard.services.policies import load_policies
from dashboard.services.retention import Purged, purge, would_purge


@click.command()
@click.option("--dry-run", is_flag=True, help="Count exactly what would go now, and change nothing.")
@click.pass_context
def retention(context: click.Context, *, dry_run: bool) -> None:
    """Purge stored answers, bodies and evidence that are older than the policy file keeps them.

    Nothing goes while it is unsettled or anything about it is open, and a purged key is never new again. The worker
    does this too, every hour. It works in small batches: Ctrl-C or SIGTERM finishes the one in hand.
    """
    settings = Settings()
    policies = load_policies(settings.policies)
    with ready_database(settings) as database, stopping_gently() as stopping, shown_progress("rows") as show:

        def tell(total: Purged) -> None:
            show(total.records + total.operations, 0)

        if dry_run:
            purged = would_purge(database, policies=policies, progress=tell)
        else:
            purged = purge(
                database,
                policies=policies,
                actor=command_line_actor(),
                progress=tell,
                stop=stopping.stop.is_set,
            )
    click.echo(_told(purged, "would be purged" if dry_run else "purged"))
    if stopping.status:
        context.exit(stopping.status)


def _told(purged: Purged, verb: str) -> str:
    return (
        f"{purged.records:,} idempotency records and {purged.operations:,} operations {verb}: "
        f"{purged.payloads:,} bodies, {purged.evidence:,} pieces of evidence, "
        f"{purged.received:,} received lines and receipts."
    )
