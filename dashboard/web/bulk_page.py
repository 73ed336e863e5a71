"""One plan: what it is about, how far it got, and what people decide about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString

from dashboard.domain.actions import ActionName
from dashboard.domain.approval import Vote
from dashboard.domain.bulk import PlanState, RowOutcome, Step, reasons
from dashboard.domain.errors import InvalidInputError, NotFoundError, OperationsError
from dashboard.domain.permissions import Permission
from dashboard.domain.states import known
from dashboard.edge.filters import parse_choice_set, parse_flag, parse_position, parse_text_set
from dashboard.edge.statuses import status_of
from dashboard.models import BulkGroup, BulkPlan, BulkVote
from dashboard.queries import bulk as queries
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.services import bulk_decisions, bulk_plans
from dashboard.services.bulk_decisions import PlanForm
from dashboard.web.bulk_sums import shown_sums, totals
from dashboard.web.context import actor, database, policies, read, requires, wants_part
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext
from dashboard.web.lists import paged
from dashboard.web.wording import by_field, in_words

blueprint = Blueprint("bulk_page", __name__, url_prefix="/bulk")

FIELDS = ("reason_code", "note", "reference", "canary", "rate")
ROUTE = f"/<int(max={LARGEST_NUMBER}):number>"
TOLD: Mapping[str, LazyString] = {
    "waiting": lazy_gettext("Sent for approval. Nothing is done until it is approved."),
    "running": lazy_gettext("The plan runs. You can leave this page."),
    "stopped": lazy_gettext("Stopped. What is done stays done; the rest waits."),
    "rejected": lazy_gettext("Rejected. Nothing was done."),
    "withdrawn": lazy_gettext("Withdrawn. What was not done yet is not done any more."),
}


@dataclass(frozen=True)
class TypedStep:
    """What the forms show again: the person's words, what is wrong with them, and why the page came back."""

    fields: Mapping[str, str]
    problems: Mapping[str, str]
    refused: str = ""
    came_back: bool = False


@dataclass(frozen=True)
class Steps:
    """What the person can do about the plan now."""

    starts: bool
    votes: bool
    stops: bool
    resumes: bool
    withdraws: bool


@blueprint.get(ROUTE)
@requires(Permission.BROWSE)
def show(number: int) -> str:
    """Show the plan, and its rows by what became of them."""
    return _page(number, TypedStep({}, {}))


@blueprint.get(f"{ROUTE}/progress")
@requires(Permission.BROWSE)
def progress(number: int) -> ResponseReturnValue:
    """Give the part of the page that moves; to whoever comes by a link, the page."""
    with read() as session:
        plan = bulk_plans.find(session, actor=actor(), plan_id=number)
        sums, amounts = queries.sums_of(session, number), queries.amounts_of(session, number)
    if not wants_part():
        return redirect(url_for(".show", number=number))
    return render_template("bulk/_progress.html", plan=plan, sums=sums, shown=shown_sums(sums, amounts), live=True)


@blueprint.get(f"{ROUTE}/<step>")
@requires(Permission.BROWSE)
def back(number: int, step: str) -> ResponseReturnValue:
    """Go to the plan: this is the address the browser is left at when a step was refused."""
    if known(Step, step) is None:
        abort(404)
    return redirect(url_for(".show", number=number))


@blueprint.post(f"{ROUTE}/<step>")
@requires(Permission.BROWSE)
def decide(number: int, step: str) -> ResponseReturnValue:
    """Take the step, once; a refusal shows the page again, with the reason and everything that was typed."""
    taken, key = known(Step, step) or abort(404), request.form.get("idempotency_key")
    sent = {name: request.form.get(name, "") for name in FIELDS}
    if key is None:
        return _page(number, TypedStep(sent, {}, came_back=True)), 422
    try:
        decided = bulk_decisions.decide(
            database(), actor=actor(), plan_id=number, step=taken, form=PlanForm(key, **sent), policies=policies()
        )
    except NotFoundError:
        raise
    except InvalidInputError as error:
        return _page(number, TypedStep(sent, by_field(error))), 422
    except OperationsError as error:
        return _page(number, TypedStep(sent, {}, refused=in_words(error))), status_of(error)
    told = gettext("You had decided so before. Nothing was done twice.") if decided.repeated else TOLD[decided.state]
    flash(str(told), "info" if decided.repeated else "ok")
    return redirect(url_for(".show", number=number), 303)


def _page(number: int, typed: TypedStep) -> str:
    asking, position = actor(), parse_position(request.args)
    outcomes = parse_choice_set(request.args, "outcome", RowOutcome)
    codes = parse_text_set(request.args, "code", maximum=64)
    with read() as session:
        plan = bulk_plans.find(session, actor=asking, plan_id=number)
        groups, votes = queries.groups_of(session, number), queries.votes_on(session, number)
        sums, amounts = queries.sums_of(session, number), queries.amounts_of(session, number)
        why = queries.reasons_of(session, number)
        page = queries.list_rows(session, number, outcomes=outcomes, codes=codes, position=position)
    able = [group for group in groups if group.refusal is None]
    return render_template(
        "bulk/show.html",
        **paged(page, position),
        plan=plan,
        verb=label("action", plan.action),
        able=able,
        totals=totals(able),
        sums=sums,
        shown=shown_sums(sums, amounts),
        why=why,
        votes=votes,
        agreed=queries.agreed(votes),
        steps=_steps(plan, able, votes),
        reasons=[(code, label("reason_code", code)) for code in reasons(ActionName(plan.action))],
        typed=typed,
        summary=[(name if name in FIELDS else "evidence", text) for name, text in typed.problems.items()],
        live=not parse_flag(request.args, "paused"),
        form_key=uuid4().hex,
    )


def _steps(plan: BulkPlan, groups: Sequence[BulkGroup], votes: Sequence[BulkVote]) -> Steps:
    me = actor()
    own = plan.requested_by == me.id
    voted = any(vote.voter == me.id for vote in votes)
    able = bulk_plans.obstacle(plan, groups, actor=me, vote=Vote.APPROVE) is None
    steers = bulk_plans.steers(plan, groups, actor=me)
    return Steps(
        starts=own and plan.state == PlanState.DRAFT and bool(groups),
        votes=able and not voted and plan.state == PlanState.WAITING,
        stops=steers and plan.state == PlanState.RUNNING,
        resumes=steers and plan.state in {PlanState.STOPPED, PlanState.PAUSED},
        withdraws=own and plan.state in bulk_decisions.WITHDRAWN_FROM,
    )
