"""`dashboard token`: programs that may call the API, and what each may do."""

from datetime import timedelta

import click
from pydantic_core import PydanticCustomError

from dashboard.cli.setup import command_line_actor, ready_database
from dashboard.config import Settings
from dashboard.db import clock, reading, transact
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.permissions import TOKEN_PERMISSIONS, Permission
from dashboard.models import ApiToken
from dashboard.services import tokens
from dashboard.services.policy_values import read_duration

PERMISSION = click.Choice(sorted(permission.value for permission in TOKEN_PERMISSIONS))
USUAL = f"{tokens.USUAL_LIFE.days}d"


@click.group()
def token() -> None:
    """Make tokens for programs that call the API, list them, and end them."""


@token.command()
@click.argument("name")
@click.option("--tenant", required=True, help="The tenant whose operations and keys the token reaches.")
@click.option("--type", "types", multiple=True, help="Only operations of this type; may repeat. Without it, all.")
@click.option("--permission", "permissions", type=PERMISSION, multiple=True, help="What it may do; may repeat.")
@click.option("--expires", default=USUAL, show_default=True, help="How long it lasts, such as 12h or 90d.")
def add(name: str, *, tenant: str, types: tuple[str, ...], permissions: tuple[str, ...], expires: str) -> None:
    """Make a token and print it once, as the last word.

    Without --permission it may do what a host needs: browse, register, work and reserve.
    """
    given = frozenset(map(Permission, permissions)) or tokens.OF_A_HOST
    life = _life(expires)
    with ready_database(Settings()) as database:
        row, secret = transact(
            database,
            lambda session: tokens.create(
                session,
                actor=command_line_actor(),
                name=name,
                tenant=tenant,
                types=types,
                permissions=given,
                expires_in=life,
                now=clock(session),
            ),
        )
    click.echo(f"Added {name}: {_told(row)}.")
    click.echo(f"It is shown only now: {secret}")


@token.command()
@click.argument("name")
def revoke(name: str) -> None:
    """End a token at once."""
    with ready_database(Settings()) as database:
        ended = transact(
            database,
            lambda session: tokens.revoke(session, actor=command_line_actor(), name=name, now=clock(session)),
        )
    click.echo(f"{name} {'is revoked' if ended else 'was revoked already'}.")


@token.command(name="list")
def list_() -> None:
    """Print all tokens: name, beginning of the secret, what each may do, and how it stands."""
    with ready_database(Settings()) as database, reading(database) as session:
        rows, now = tokens.list_tokens(session), clock(session)
    for row in rows:
        used = f"last used {row.last_used_at:%Y-%m-%d %H:%M} UTC" if row.last_used_at else "never used"
        ended = "; revoked" if row.revoked_at else "; expired" if row.expires_at <= now else ""
        click.echo(f"{row.name}\t{row.prefix}...\t{_told(row)}; {used}{ended}")
    if not rows:
        click.echo("There is no token yet: make the first one with `dashboard token add`.")


def _life(written: str) -> timedelta:
    try:
        return read_duration(written)
    except PydanticCustomError as error:
        raise InvalidInputError((Problem("expires", f"policy_{error.type}", error.context or {}),)) from error


def _told(row: ApiToken) -> str:
    where = f"{row.tenant}, {', '.join(row.types) or 'all types'}"
    return f"{', '.join(row.permissions)} ({where}), until {row.expires_at:%Y-%m-%d %H:%M} UTC"
