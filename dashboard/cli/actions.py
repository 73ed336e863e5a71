"""`dashboard action`: see what waits for a second person, and decide about it as somebody who proves who they are."""

from typing import Any

import click

from dashboard.cli.proving import as_somebody, proven
from dashboard.cli.setup import ready_database
from dashboard.config import Settings
from dashboard.db import clock, reading
from dashboard.domain.approval import Vote
from dashboard.domain.errors import NotFoundError
from dashboard.domain.permissions import Permission, scopes
from dashboard.domain.text import visible
from dashboard.queries import actions as queries
from dashboard.queries.actions import ActionFilter
from dashboard.queries.keyset import Position
from dashboard.queries.proposals import count_waiting
from dashboard.services import approvals
from dashboard.services.policies import load_policies

NUMBER = click.IntRange(1, 2**63 - 1)


@click.group()
def action() -> None:
    """List what waits for approval, and approve, reject or withdraw it.

    Whoever decides signs in: with --as and the password, which is asked for or read with --password-stdin. What they
    may do is what they may do on screen; the audit log names them.
    """


@action.command(name="list")
@as_somebody
def list_(*, email: str, password_stdin: bool) -> None:
    """Print what waits for approval within one's grants: number, action, operation, who proposed it, until when."""
    with ready_database(Settings()) as database:
        who = proven(database, email, stdin=password_stdin)
        with reading(database) as session:
            visible_to = scopes(who.grants, Permission.BROWSE)
            waiting = ActionFilter(states=frozenset({"proposed"}))
            now = clock(session)
            page = queries.list_actions(session, waiting, scopes=visible_to, position=Position(limit=200), now=now)
            mine = count_waiting(session, who, now=now)
    for row in page.rows:
        until = f"until {row.expires_at:%Y-%m-%d %H:%M} UTC"
        told = (str(row.number), row.action, row.operation_id, visible(row.requested_by), row.reason_code, until)
        click.echo("\t".join(told))
    click.echo(f"{len(page.rows)} waiting, {mine} of them for you.")


@action.command()
@click.argument("number", type=NUMBER)
@click.option("--note", help="What you looked at.")
@as_somebody
def approve(number: int, **given: Any) -> None:
    """Approve action NUMBER; the last approval that is needed carries it out."""
    _decide(number, Vote.APPROVE, **given)


@action.command()
@click.argument("number", type=NUMBER)
@click.option("--note", required=True, help="Why not; at least 15 characters.")
@as_somebody
def reject(number: int, **given: Any) -> None:
    """Reject action NUMBER, and say why."""
    _decide(number, Vote.REJECT, **given)


@action.command()
@click.argument("number", type=NUMBER)
@click.option("--note", help="Why you take it back.")
@as_somebody
def withdraw(number: int, **given: Any) -> None:
    """Withdraw action NUMBER, which you proposed yourself."""
    _decide(number, Vote.WITHDRAW, **given)


def _decide(number: int, vote: Vote, *, note: str | None, email: str, password_stdin: bool) -> None:
    settings = Settings()
    policies = load_policies(settings.policies)
    with ready_database(settings) as database:
        who = proven(database, email, stdin=password_stdin)
        try:
            decided = approvals.decide(
                database,
                actor=who,
                action_id=number,
                decision=vote,
                note=note,
                # The same command typed again is the same vote.
                idempotency_key=f"command-line-{vote}-{number}",
                policies=policies,
            )
        except NotFoundError as error:
            raise click.UsageError(f"There is no action {number}, or not for this account.") from error
    again = " This was decided before; nothing was done twice." if decided.repeated else ""
    told = f"{decided.operation_id}: {decided.state}, {decided.approvals} of {decided.needed} approvals."
    click.echo(told + again)
