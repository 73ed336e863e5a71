"""`dashboard evidence`: what destinations say by themselves, in files."""

import os
from pathlib import Path

import click

from dashboard.cli.errors import FINDINGS
from dashboard.cli.importing import refuse_unreadable
from dashboard.cli.progress import shown_progress
from dashboard.cli.rejects import Rejects
from dashboard.cli.setup import FILE, command_line_actor, ready_database
from dashboard.config import Settings
from dashboard.db import clock, transact
from dashboard.domain.received import Match
from dashboard.domain.text import visible
from dashboard.domain.verdicts import Verdict
from dashboard.services.evidence import EvidenceSummary, import_evidence
from dashboard.services.policies import load_policies, remember


@click.group()
def evidence() -> None:
    """Take in what destinations say by themselves."""


@evidence.command(name="import")
@click.argument("file", type=FILE)
@click.option("--destination", metavar="D", required=True, help="The destination of the policy file that it is from.")
@click.pass_context
def import_(context: click.Context, file: Path, *, destination: str) -> None:
    """Take in the result or settlement FILE of a destination, and judge the operations it is about.

    The policy file says how its lines name their operation ([destinations.D.evidence]). Importing twice changes
    nothing. A line that cannot be read, fits no operation or fits several is reported and written to
    FILE.rejects.jsonl; it stops no other. Exit status 1 if there was any.
    """
    settings = Settings()
    policies = load_policies(settings.policies)
    with ready_database(settings) as database, file.open("rb") as source:
        refuse_unreadable(source, file)
        transact(database, lambda session: remember(session, policies, now=clock(session)))
        rejects = Rejects(file)
        with rejects, shown_progress("lines", total_bytes=os.fstat(source.fileno()).st_size) as show:
            summary = import_evidence(
                database,
                source=source,
                name=visible(file.name),
                destination=destination,
                policies=policies,
                actor=command_line_actor(),
                reject=rejects.write,
                progress=show,
            )
    _print_summary(summary)
    rejects.print_end()
    if rejects.count:
        context.exit(FINDINGS)


def _print_summary(summary: EvidenceSummary) -> None:
    matches = summary.matches
    click.echo(
        f"{summary.read:,} lines read: {summary.new:,} new, {matches[Match.MATCHED]:,} of one operation, "
        f"{matches[Match.UNMATCHED]:,} of none, {matches[Match.SEVERAL]:,} of several, {summary.rejected:,} rejected."
    )
    if not summary.verdicts and not summary.held:
        return
    told = [f"{summary.verdicts[verdict]:,} {verdict.replace('_', ' ')}" for verdict in Verdict]
    click.echo(f"{summary.verdicts.total():,} operations judged: {', '.join(told)}; {summary.changed:,} changed state.")
    if summary.held:
        click.echo(f"{summary.held:,} operations are being worked on; a worker judges them later.")
