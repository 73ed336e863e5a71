"""`dashboard alerts`: look at the rules of the policy file, and tell who is to be told."""

import logging
from collections.abc import Iterator, Sequence

import click

from dashboard.adapters.mail import mail_server
from dashboard.cli.errors import FINDINGS
from dashboard.cli.setup import command_line_actor, ready_database
from dashboard.cli.stopping import stopping_gently
from dashboard.config import Settings
from dashboard.db import reading
from dashboard.domain.alert_words import in_english, what_is_wrong, what_to_do
from dashboard.domain.alerting import Sight
from dashboard.logs import configure
from dashboard.queries.alerts import SeenAlert, breach_of, evaluation, open_alerts
from dashboard.services import work
from dashboard.services.policies import load_policies

EVERYTHING = Sight(types=None, installation=True)
PIECES = ("alerts", "notices")


@click.command()
@click.option("--once", is_flag=True, help="Look once and send what is due, then exit.")
@click.pass_context
def alerts(context: click.Context, *, once: bool) -> None:
    """Look at the rules of alerts every half minute, and send notices of what fires.

    The worker does this too; a process of its own also notices that the worker stands still. Any number may share a
    database. Ctrl-C or SIGTERM exits.
    """
    configure(level=logging.INFO)
    settings = Settings()
    policies = load_policies(settings.policies)
    with ready_database(settings) as database, stopping_gently() as stopping:
        working = work.Context(
            policies,
            command_line_actor(),
            stop=stopping.stop,
            mail=mail_server(settings),
            public_url=settings.public_url,
            environment=settings.environment,
        )
        run = work.run_once if once else work.run
        finished = run(database, working, pieces=[piece for piece in work.PIECES if piece.name in PIECES])
        with reading(database) as session:
            seen = open_alerts(session, sight=EVERYTHING)
            last = evaluation(session)
    for line in _told(seen):
        click.echo(line)
    unread = last.unreadable if last else ""
    if unread:
        click.echo(f"Could not be read: {unread}. The log says why.")
    if stopping.status or finished is False or unread:
        context.exit(stopping.status or FINDINGS)


def _told(seen: Sequence[SeenAlert]) -> Iterator[str]:
    if not seen:
        yield "Nothing fires."
    for each in seen:
        breach = breach_of(each.alert)
        yield f"{each.shown}: {in_english(what_is_wrong(breach))} {what_to_do(breach)}"
