"""Who decides from the command line proves who they are: with --as and the password, as on the screens."""

import getpass
import socket
import sys
from collections.abc import Callable
from functools import update_wrapper

import click

from dashboard.db import Database
from dashboard.domain.errors import NotAllowedError
from dashboard.domain.permissions import Actor
from dashboard.domain.states import ActorKind
from dashboard.domain.text import visible
from dashboard.services.sign_in import SignedIn, sign_in


def as_somebody(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options by which a person proves who they are."""
    email = click.option("--as", "email", required=True, help="The e-mail of the person who decides.")
    stdin = click.option(
        "--password-stdin", is_flag=True, help="Read the password from the first line of standard input."
    )
    return update_wrapper(email(stdin(command)), command)


def proven(database: Database, email: str, *, stdin: bool) -> Actor:
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
