"""`dashboard action`: see what waits for a second person, and decide about it as somebody who proves who they are."""

import getpass
import socket
import sys
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import click

from dashboard.cli.setup import ready_database
from dashboard.config import Settings
from dashboard.db import Database, clock, reading
from dashboard.domain.approval import Vote
from dashboard.domain.errors import NotAllowedError, NotFoundError
from dashboard.domain.permissions import Actor, Permission, scopes
from dashboard.domain.states import ActorKind
from dashboard.domain.text import visible
from dashboard.queries import actions as queries
from dashboard.queries.actions import ActionFilter
from dashboard.queries.keyset import Position
from dashboard.queries.proposals import count_waiting
from dashboard.services import approvals
from dashboard.services.policies import load_policies
from dashboard.services.sign_in import SignedIn, sign_in

NUMBER = click.IntRange(1, 2**63 - 1)


@click.group()
def action() -> None:
    """List what waits for approval, and approve, reject or withdraw it.

    Whoever decides signs in: with --as and the password, which is asked for or read with --password-stdin. What they
    may do is what they may do on screen; the audit log names them.
    """


def as_somebody(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options by which a person proves who they are."""
    email = click.option("--as", "email", required=True, help="The e-mail of the person who decides.")
    stdin = click.option(
        "--password-stdin", is_flag=True, help="Read the password from the first line of standard input."
    )
    return update_wrapper(email(stdin(command)), command)


@action.command(name="list")
@as_somebody
def list_(*, email: str, password_stdin: bool) -> None:
    """Print what waits for approval within one's grants: number, action, operation, who proposed it, until when."""
    with ready_database(Settings()) as database:
        who = _proven(database, email, stdin=password_stdin)
        with reading(database) as session:
            visible_to = scopes(who.grants, Permission.BROWSE)
            waiting = ActionFilter(states=frozenset({"proposed"}))
            page = queries.list_actions(session, waiting, scopes=visible_to, position=Position(limit=200))
            mine = count_waiting(session, who, now=clock(session))
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
        who = _proven(database, email, stdin=password_stdin)
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


def _proven(database: Database, email: str, *, stdin: bool) -> Actor:
    """The person whose password it is, as the screens know them; refused as there, and as slow after failures."""
    address = f"command line, {visible(getpass.getuser())}@{visible(socket.gethostname())}"[:64]
    found = sign_in(database, email=email, password=_password(stdin=stdin), address=address, request_id=None)
    if not isinstance(found, SignedIn):
        raise NotAllowedError("sign_in_refused", reason=found.code)
    if found.person.password_initial:
        raise NotAllowedError("password_initial")
    return Actor(ActorKind.USER, found.person.email, found.person.grants, address)


def _password(*, stdin: bool) -> str:
    if stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask for the password at: give it with --password-stdin.")
    password: str = click.prompt("Password", hide_input=True)
    return password
