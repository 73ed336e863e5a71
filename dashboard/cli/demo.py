"""`dashboard demo`: a shop to look around in, ready in seconds."""

import io
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path

import click
from sqlalchemy import select

from dashboard.app import create_app
from dashboard.cli.demo_shop import POLICIES, shop_lines
from dashboard.cli.demo_shop.live import alive
from dashboard.cli.serve import is_taken, listen, run
from dashboard.cli.setup import command_line_actor, opened_database
from dashboard.config import Settings
from dashboard.db import Database, clock, reading
from dashboard.domain.alerting import Rule
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind
from dashboard.models import User
from dashboard.services import schema, users
from dashboard.services.alert_letters import Place
from dashboard.services.alerts import evaluate
from dashboard.services.import_rows import Rejected
from dashboard.services.importing import import_lines
from dashboard.services.policies import load_policies
from dashboard.services.silences import Wish, silence

PASSWORD = "prove-it-then-repair-it"  # noqa: S105 - of the demo's made-up people, printed at its start
PORTS_TRIED = 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")
MAY = {
    Role.SUPPORT: "finds, notes, escalates",
    Role.OPERATOR: "decides and repairs",
    Role.MANAGER: "reviews, reopens, verifies the audit log",
    Role.ADMIN: "sees the audit log; no operations",
}
LIVE = "Operations come in every few seconds and some go wrong: watch /exceptions and /reconciliation, and repair them."
SILENCED = "The carrier repairs its interface until this evening; they told us by mail."
STILL = "Nothing is sent or asked: the shop stands still."


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535), help="First port to try.")
@click.option("--database", "path", type=click.Path(dir_okay=False, path_type=Path), help="Keep the shop in this file.")
@click.option("--no-serve", is_flag=True, help="Only make the shop in the file named by --database.")
@click.option("--no-live", is_flag=True, help="Keep it still: no worker, no destinations, no new operations.")
def demo(*, host: str, port: int, path: Path | None, no_serve: bool, no_live: bool) -> None:
    """Make a believable shop in an embedded SQLite file and serve it until Ctrl-C.

    The shop is alive: operations come in, a worker sends them to simulated destinations that lose answers, answer
    late and make things twice, and asks there what became of them. It is dated from now and removed at the end,
    unless --database keeps it.
    """
    if no_serve and path is None:
        raise click.UsageError("--no-serve needs --database, or nothing would be left.")
    with _file(path) as file:
        settings = Settings(
            database_url=f"sqlite:///{file}", demo=True, cookie_secure=False, environment="demo", policies=POLICIES
        )
        with opened_database(settings) as database:
            prepare(database)
        if no_serve:
            click.echo(f"The demo's shop is in {file}.")
            return
        with nullcontext() if no_live else alive(settings.database_url):
            _serve(settings, host=host, port=port, live=not no_live)


def prepare(database: Database) -> None:
    """Fill the database with the shop and one person a role; one that is filled already stays as it is."""
    schema.upgrade(database)
    with reading(database) as session:
        if session.scalar(select(User.id).limit(1)) is not None:
            return
        now = clock(session)
    policies = load_policies(POLICIES)
    import_lines(
        database,
        source=io.BytesIO(b"".join(shop_lines(now=now, policy_hash=policies.hash))),
        name="demo shop",
        actor=command_line_actor(),
        policies=policies,
        reject=_stop,
    )
    for role in Role:
        users.add_user(
            database,
            actor=command_line_actor(),
            email=f"{role}@example.com",
            password=PASSWORD,
            grants=(Grant(role),),
        )
    _watch(database, policies, now=now)


def _watch(database: Database, policies: Policies, *, now: datetime) -> None:
    """Look at the rules of alerts as a worker would have in the last hours, and silence one of them."""
    operator = Actor(ActorKind.USER, f"{Role.OPERATOR}@example.com", (Grant(Role.OPERATOR),))
    wish = Wish("create_shipment", Rule.ACCUMULATION.value, timedelta(hours=8), SILENCED, "demo")
    silence(database, actor=operator, wish=wish, policies=policies)
    for before in (timedelta(hours=2), timedelta(hours=1), timedelta()):
        evaluate(database, policies=policies, now=now - before, place=Place("demo"))


def _stop(rejected: Rejected) -> None:
    raise AssertionError(f"the demo's own line {rejected.number} was rejected: {rejected.problems}")


def _serve(settings: Settings, *, host: str, port: int, live: bool) -> None:
    app = create_app(settings)
    opened, taken = _listen_nearby(host, first=port)
    if taken != port:
        click.echo(f"Port {port} is taken; using {taken}.")
    if host not in LOOPBACK:
        click.echo("Warning: the demo's password is public, and whoever reaches this address can sign in.", err=True)
    click.echo(f"\nThe demo is at http://{host}:{taken}/ - Ctrl-C ends it.\n")
    for role in Role:
        click.echo(f"  {f'{role}@example.com':<24}{PASSWORD:<28}{MAY[role]}")
    click.echo("\n" + (LIVE if live else STILL) + "\n")
    run(app, opened)


def _listen_nearby(host: str, *, first: int) -> tuple[socket.socket, int]:
    last = min(first + PORTS_TRIED, 65536) - 1
    for port in range(first, last + 1):
        try:
            return listen(host, port), port
        except OSError as error:
            if not is_taken(error):
                raise click.UsageError(f"Cannot listen at {host}:{port}: {error.strerror}.") from error
    raise click.UsageError(f"All ports from {first} to {last} are taken: choose another --port.")


@contextmanager
def _file(path: Path | None) -> Iterator[Path]:
    if path:
        yield path.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="operations-demo-") as folder:
        yield Path(folder) / "shop.sqlite3"
