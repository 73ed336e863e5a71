"""`dashboard user`: who may sign in, and what they may do where."""

import sys
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import click

from dashboard.cli.setup import command_line_actor, ready_database
from dashboard.config import Settings
from dashboard.db import clock, reading, transact
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.permissions import Grant, Role
from dashboard.services import granting, identities, users

T = TypeVar("T")
ROLE = click.Choice([role.value for role in Role])


@click.group()
def user() -> None:
    """Add people, give them roles, and bar them."""


@user.command()
@click.argument("email")
@click.option("--role", type=ROLE, required=True, help="What the person may do.")
@click.option("--tenant", help="Only for this tenant; without it, for all.")
@click.option("--type", "operation_type", help="Only for operations of this type; without it, for all.")
@click.option("--password-stdin", is_flag=True, help="Read the password from the first line of standard input.")
def add(email: str, *, role: str, tenant: str | None, operation_type: str | None, password_stdin: bool) -> None:
    """Add a person with one role; asks for the password unless --password-stdin is given."""
    settings = Settings()
    with ready_database(settings) as database:
        password = _password_of(stdin=password_stdin)
        grant = Grant(Role(role), tenant, operation_type)
        users.add_user(database, actor=command_line_actor(), email=email, password=password, grants=(grant,))
    click.echo(f"Added {users.clean_email(email)}: {_told(grant)}.")


@user.command()
@click.argument("email")
@click.option("--role", type=ROLE, required=True, help="What the person may do.")
@click.option("--tenant", help="Only for this tenant; without it, for all.")
@click.option("--type", "operation_type", help="Only for operations of this type; without it, for all.")
def grant(email: str, *, role: str, tenant: str | None, operation_type: str | None) -> None:
    """Give a person one more role."""
    given = Grant(Role(role), tenant, operation_type)
    with ready_database(Settings()) as database:
        added = transact(
            database,
            lambda session: granting.add_grant(
                session, actor=command_line_actor(), email=email, grant=given, now=clock(session)
            ),
        )
    click.echo(f"{users.clean_email(email)} {'has' if added else 'had already'}: {_told(given)}.")


@user.command()
@click.argument("email")
@click.option("--role", type=ROLE, required=True, help="The role to take away.")
@click.option("--tenant", help="The tenant it holds for; without it, the one for all.")
@click.option("--type", "operation_type", help="The type it holds for; without it, the one for all.")
def revoke(email: str, *, role: str, tenant: str | None, operation_type: str | None) -> None:
    """Take a role away from a person, just as it was given."""
    taken = Grant(Role(role), tenant, operation_type)
    with ready_database(Settings()) as database:
        removed = transact(
            database,
            lambda session: granting.remove_grant(
                session, actor=command_line_actor(), email=email, grant=taken, now=clock(session)
            ),
        )
    click.echo(f"{users.clean_email(email)} {'no longer has' if removed else 'did not have'}: {_told(taken)}.")


@user.command()
@click.argument("email")
def disable(email: str) -> None:
    """Bar a person from signing in, and end their sessions."""
    barred = _changed(users.disable_user, email)
    click.echo(f"{users.clean_email(email)} {'is barred' if barred else 'was barred already'}.")


@user.command()
@click.argument("email")
def enable(email: str) -> None:
    """Let a barred person sign in again."""
    freed = _changed(users.enable_user, email)
    click.echo(f"{users.clean_email(email)} {'may sign in again' if freed else 'was not barred'}.")


@user.command(name="sign-out")
@click.argument("email")
def sign_out(email: str) -> None:
    """End all sessions of a person."""
    _changed(users.sign_out_user, email)
    click.echo(f"{users.clean_email(email)} is signed out everywhere.")


@user.command()
@click.argument("email")
@click.argument("subject")
def link(email: str, subject: str) -> None:
    """Let a person sign on at the identity provider, where SUBJECT is who they are."""
    issuer = Settings().oidc_issuer
    if issuer is None:
        raise InvalidInputError((Problem("DASHBOARD_OIDC_ISSUER", "oidc_off"),))
    _changed(partial(identities.link, issuer=issuer, subject=subject), email)
    click.echo(f"{users.clean_email(email)} signs on as {subject} from now on; the password counts no more.")


@user.command(name="list")
def list_() -> None:
    """Print everybody: e-mail, roles, and whether they are barred."""
    with ready_database(Settings()) as database, reading(database) as session:
        people = users.list_users(session)
    for person in people:
        roles = ", ".join(_told(grant) for grant in person.grants) or "no role"
        click.echo(f"{person.email}\t{roles}{'' if person.disabled_at is None else '; barred'}")
    if not people:
        click.echo("There is nobody yet: add the first person with `dashboard user add`.")


def _changed(change: Callable[..., T], email: str) -> T:
    """Change a person in one transaction and give what the change says."""
    with ready_database(Settings()) as database:
        return transact(
            database, lambda session: change(session, actor=command_line_actor(), email=email, now=clock(session))
        )


def _password_of(*, stdin: bool) -> str:
    if not stdin and not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask for the password at: give it with --password-stdin.")
    if not stdin:
        password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        return password
    return sys.stdin.readline().rstrip("\r\n")


def _told(grant: Grant) -> str:
    return f"{grant.role} ({grant.tenant or 'all tenants'}, {grant.type or 'all types'})"
