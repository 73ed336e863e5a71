"""`dashboard plan`: one decision about many operations, by somebody who proves who they are."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import click
from werkzeug.datastructures import MultiDict

from dashboard.cli.proving import as_somebody, proven
from dashboard.cli.setup import ready_database
from dashboard.config import Settings
from dashboard.db import reading
from dashboard.domain.actions import ActionName
from dashboard.domain.ages import windows_of
from dashboard.domain.bulk import PlanState, Step
from dashboard.domain.errors import NotFoundError
from dashboard.domain.permissions import Permission, scopes
from dashboard.domain.text import visible
from dashboard.edge.operation_filters import NAMES, parse_filter
from dashboard.queries import bulk as queries
from dashboard.queries.keyset import Position
from dashboard.services import bulk_decisions, bulk_planning, bulk_plans
from dashboard.services.bulk_decisions import PlanForm
from dashboard.services.bulk_planning import PlanRequest, Selection
from dashboard.services.policies import load_policies

NUMBER = click.IntRange(1, 2**63 - 1)
MOST_SHOWN = 200
UTC = ZoneInfo("UTC")


@click.group()
def plan() -> None:
    """Plan an action for many operations, start it, decide about those of others, stop it and let it go on.

    A worker carries a plan out. Whoever decides signs in with --as and the password; what they may do is what they may
    do on screen.
    """


@plan.command()
@click.argument("action", type=click.Choice([name.value for name in ActionName]))
@click.option("--operation", "ids", multiple=True, metavar="ID", help="An operation; may be given again.")
@click.option("--where", "filters", multiple=True, metavar="NAME=VALUE", help="A filter of the lists; may be repeated.")
@as_somebody
def make(action: str, *, ids: Sequence[str], filters: Sequence[str], email: str, password_stdin: bool) -> None:
    """Freeze operations into a draft, and print its number last; nothing happens to them.

    Either name each by --operation, or find them by --where type=charge_order --where min_age=3d.
    """
    if bool(ids) == bool(filters):
        raise click.UsageError("Give either --operation or --where.")
    settings = Settings()
    policies = load_policies(settings.policies)
    with ready_database(settings) as database:
        who = proven(database, email, stdin=password_stdin)
        windows = windows_of(policies)
        found = Selection(ids)
        if not ids:
            found = Selection(filters=parse_filter(_query(filters), me=who.id, zone=UTC, windows=windows))
        key = f"command-line-{uuid4().hex}"
        made = bulk_planning.make(database, PlanRequest(who, ActionName(action), found, policies, key))
    unknown = f" {made.unknown} were not found." if made.unknown else ""
    click.echo(f"{made.total} operations.{unknown} Draft of plan {made.plan_id}")


@plan.command(name="list")
@as_somebody
def list_(*, email: str, password_stdin: bool) -> None:
    """Print the newest plans within one's grants: number, state, action, operations, who made it."""
    with ready_database(Settings()) as database:
        who = proven(database, email, stdin=password_stdin)
        visible_to, newest = scopes(who.grants, Permission.BROWSE), Position(limit=MOST_SHOWN)
        with reading(database) as session:
            page = queries.list_plans(session, scopes=visible_to, states=frozenset(), person=who.id, position=newest)
    for row in page.rows:
        found = row.BulkPlan
        told = (str(found.id), found.state, found.action, str(found.total), visible(found.requested_by))
        click.echo("\t".join(told))


@plan.command()
@click.argument("number", type=NUMBER)
@as_somebody
def show(number: int, *, email: str, password_stdin: bool) -> None:
    """Print how far plan NUMBER got: rows by outcome, exact amounts, why rows were not done."""
    with ready_database(Settings()) as database:
        who = proven(database, email, stdin=password_stdin)
        with reading(database) as session:
            try:
                found = bulk_plans.find(session, actor=who, plan_id=number)
            except NotFoundError as error:
                raise _unknown(number) from error
            sums, amounts = queries.sums_of(session, number), queries.amounts_of(session, number)
            why = queries.reasons_of(session, number)
    click.echo(f"plan {number}: {found.action}, {found.state}, {sums.settled} of {sums.eligible} through")
    for outcome, rows in sorted(sums.by_outcome.items()):
        click.echo(f"{outcome}\t{rows}")
    for amount in amounts:
        click.echo(f"{amount.outcome}\t{amount.total:f} {amount.currency or ''}".rstrip())
    for reason in why:
        click.echo(f"{reason.outcome}\t{reason.times}\t{reason.code or ''}")


@plan.command()
@click.argument("number", type=NUMBER)
@click.option("--reason", "reason_code", required=True, help="The code of the reason, as the screens list them.")
@click.option("--note", required=True, help="What you looked at; at least 15 characters.")
@click.option("--reference", help="A link or a number.")
@click.option("--canary", help="So many first; then it waits for `resume`.")
@click.option("--rate", help="No more than so many a minute.")
@as_somebody
def start(number: int, *, email: str, password_stdin: bool, **sent: str | None) -> None:
    """Start your draft NUMBER with its evidence; where policy asks, it waits for others."""
    _decide(number, Step.START, email=email, password_stdin=password_stdin, **sent)


def _remark(step: Step, help_: str, *, note: str, required: bool = False) -> None:
    """Add a command that takes no more than a note."""

    @plan.command(name=step.value, help=help_)
    @click.argument("number", type=NUMBER)
    @click.option("--note", required=required, help=note)
    @as_somebody
    def command(number: int, **given: Any) -> None:
        _decide(number, step, **given)


_remark(Step.APPROVE, "Approve plan NUMBER of somebody else, as a whole.", note="What you looked at.")
_remark(Step.REJECT, "Reject plan NUMBER, and say why.", note="Why not; at least 15 characters.", required=True)
_remark(Step.WITHDRAW, "Withdraw plan NUMBER, which you made yourself.", note="Why you take it back.")
_remark(Step.STOP, "Stop plan NUMBER; what is done stays done.", note="Why.")
_remark(Step.RESUME, "Let plan NUMBER go on.", note="Why.")


def _decide(number: int, step: Step, *, email: str, password_stdin: bool, **sent: str | None) -> None:
    settings = Settings()
    policies = load_policies(settings.policies)
    with ready_database(settings) as database:
        who = proven(database, email, stdin=password_stdin)
        # The same command typed again is the same step.
        form = PlanForm(f"command-line-{step}-{number}", **sent)
        try:
            taken = bulk_decisions.decide(database, actor=who, plan_id=number, step=step, form=form, policies=policies)
        except NotFoundError as error:
            raise _unknown(number) from error
    again = " This was decided before; nothing was done twice." if taken.repeated else ""
    waits = " Nothing is done until it is approved." if taken.state == PlanState.WAITING else ""
    click.echo(f"plan {number}: {taken.state}.{waits}{again}")


def _query(filters: Sequence[str]) -> MultiDict[str, str]:
    query: MultiDict[str, str] = MultiDict()
    for each in filters:
        name, equals, value = each.partition("=")
        if not equals or not value:
            raise click.BadParameter(f"{each!r} is not NAME=VALUE", param_hint="--where")
        if name not in NAMES:
            # A slip would plan everything there is.
            raise click.BadParameter(f"{name!r} is none of {', '.join(NAMES)}", param_hint="--where")
        query.add(name, value)
    return query


def _unknown(number: int) -> click.UsageError:
    return click.UsageError(f"There is no plan {number}, or not for this account.")
