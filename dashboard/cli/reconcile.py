"""`dashboard reconcile`: ask destinations what really happened, and do what policy allows."""

from dataclasses import dataclass, field
from datetime import timedelta

import click
from pydantic_core import PydanticCustomError

from dashboard.cli.progress import shown_progress
from dashboard.cli.setup import command_line_actor, ready_database
from dashboard.cli.stopping import Stopping, stopping_gently
from dashboard.config import Settings
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind
from dashboard.domain.text import visible
from dashboard.models import ReconciliationRun
from dashboard.services import reconciliation, runs
from dashboard.services.asking import Circuit
from dashboard.services.policies import load_policies, remember
from dashboard.services.policy_values import read_duration

ORIGIN = "command"
PAUSE_SECONDS = 5.0


class _Duration(click.ParamType[timedelta]):
    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        try:
            return value if isinstance(value, timedelta) else read_duration(value)
        except PydanticCustomError:
            self.fail(f"{visible(str(value))!r} is not a whole number and a unit, such as 30s, 5m or 2h.", param, ctx)


@dataclass(frozen=True)
class _Wish:
    """What was asked for on the command line."""

    only_type: str | None
    limit: int | None
    window: timedelta | None
    observe: bool
    circuit: Circuit = field(default_factory=Circuit)


@click.command()
@click.option("--type", "only_type", metavar="TYPE", help="Only operations of this type.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many operations of each type in a pass.")
@click.option("--window", type=_Duration(), help="Look at all that has waited this long, such as 30s, 5m or 2h.")
@click.option("--observe", is_flag=True, help="Change nothing; only record what would be done.")
@click.option("--once", is_flag=True, help="Make one pass over all that is due, then exit.")
@click.pass_context
def reconcile(
    context: click.Context,
    *,
    only_type: str | None,
    limit: int | None,
    window: timedelta | None,
    observe: bool,
    once: bool,
) -> None:
    """Ask destinations about operations that await confirmation, and do what policy allows.

    Without --once it goes on until Ctrl-C or SIGTERM, which finish the operation in hand.
    """
    settings = Settings()
    policies = load_policies(settings.policies)
    if only_type is not None and policies.types and only_type not in policies.types:
        known = ", ".join(map(visible, policies.types))
        raise click.UsageError(f"The policy file has no type {visible(only_type)!r}; it has: {known}.")
    wish = _Wish(only_type, limit, window, observe)
    with ready_database(settings) as database, stopping_gently() as stopping:
        transact(database, lambda session: remember(session, policies, now=clock(session)))
        found = _pass(database, policies, wish, stopping=stopping)
        if once and not found and not stopping.status:
            click.echo("Nothing is due.")
        # A pass that moves nothing finds the same again at once.
        moves = not wish.observe and wish.window is None
        while not once and not stopping.stop.wait(0 if found and moves else PAUSE_SECONDS):
            found = _pass(database, policies, wish, stopping=stopping)
    if stopping.status:
        context.exit(stopping.status)


def _pass(database: Database, policies: Policies, wish: _Wish, *, stopping: Stopping) -> bool:
    """Make one pass and tell what it found; False where nothing was due."""
    with shown_progress("operations looked at") as show:
        number = reconciliation.run(
            database,
            policies=policies,
            actor=Actor(ActorKind.RECONCILER, command_line_actor().id),
            origin=ORIGIN,
            only_type=wish.only_type,
            limit=wish.limit,
            window=wish.window,
            observe=wish.observe,
            progress=lambda looked: show(looked, 0),
            stop=stopping.stop.is_set,
            circuit=wish.circuit,
        )
    if number is None:
        return False
    with reading(database) as session:
        click.echo(_told(session.get_one(ReconciliationRun, number)))
    return True


def _told(run: ReconciliationRun) -> str:
    verdicts = ", ".join(f"{getattr(run, name):,} {name.replace('_', ' ')}" for name in runs.VERDICTS)
    ended = "" if run.state == runs.FINISHED else f" {run.state.capitalize()} before the end."
    skipped = f" {run.skipped:,} changed meanwhile and were left alone." if run.skipped else ""
    done = "observed only, nothing changed" if run.observe else f"{run.acted:,} changed state"
    return f"Run {run.id}: {run.examined:,} looked at: {verdicts}; {done}.{skipped}{ended}"
