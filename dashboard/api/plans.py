"""Plans: one decision about many operations, made, sent, decided about, and followed."""

from zoneinfo import ZoneInfo

from flask import Blueprint, Response, request

from dashboard.api.action_models import Ballot
from dashboard.api.answering import answer, links_of
from dashboard.api.describing import Parameter, describes
from dashboard.api.once import Reply, around, form_key
from dashboard.api.parameters import PAGE, choice
from dashboard.api.plan_models import (
    PlanDetail,
    PlanMade,
    PlannedOperation,
    PlannedPage,
    PlanPage,
    PlanRow,
    PlanStanding,
    PlanStart,
    PlanWish,
)
from dashboard.api.reading import check_query, read_body
from dashboard.domain.ages import windows_of
from dashboard.domain.bulk import PlanState, RowOutcome, Step
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.permissions import Permission, scopes
from dashboard.edge.context import actor, database, policies, read, requires
from dashboard.edge.filters import parse_choice_set, parse_position
from dashboard.edge.operation_filters import parse_filter
from dashboard.queries import bulk as queries
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.services import bulk_decisions, bulk_planning, bulk_plans
from dashboard.services.bulk_decisions import PlanForm
from dashboard.services.bulk_planning import PlanRequest, Selection

blueprint = Blueprint("plans", __name__, url_prefix="/api/v1/plans")
NUMBER = f"/<int(max={LARGEST_NUMBER}):number>"
PLANS = (Parameter("state", choice(PlanState), repeated=True), *PAGE)
ROWS = (Parameter("outcome", choice(RowOutcome), repeated=True), *PAGE)
UTC = ZoneInfo("UTC")


@blueprint.post("")
@requires(Permission.PROPOSE)
@describes("Plan an action for many operations", {201: PlanMade}, body=PlanWish, once=True)
def make() -> Response:
    """Freeze operations, each at its revision, into a draft; nothing happens to them until it is started."""
    asked, key, asking = read_body(PlanWish), form_key(), actor()
    wanted = PlanRequest(asking, asked.action, _selection(asked), policies(), key)

    def plan() -> Reply:
        made = bulk_planning.make(database(), wanted)
        told = PlanMade(plan_id=made.plan_id, total=made.total, unknown=made.unknown)
        return Reply(told, 201, {"Location": f"/api/v1/plans/{made.plan_id}"})

    return around("plan", plan, authorise=lambda _session: None)


@blueprint.get("")
@requires(Permission.BROWSE)
@describes("List plans", {200: PlanPage}, query=PLANS)
def index() -> Response:
    """The plans that the token may see whole, newest first; of drafts only its own."""
    check_query(request.args, PLANS)
    asking, states = actor(), parse_choice_set(request.args, "state", PlanState)
    visible, position = scopes(asking.grants, Permission.BROWSE), parse_position(request.args)
    with read() as session:
        page = queries.list_plans(session, scopes=visible, states=states, person=asking.id, position=position)
    items = [PlanRow.model_validate(PlanRow.told(row.BulkPlan)) for row in page.rows]
    return answer(PlanPage(items=items, **links_of(page).model_dump()))


@blueprint.get(NUMBER)
@requires(Permission.BROWSE)
@describes("Get a plan", {200: PlanDetail})
def show(number: int) -> Response:
    """One plan, and how many of its operations have become what."""
    check_query(request.args, ())
    with read() as session:
        plan = bulk_plans.find(session, actor=actor(), plan_id=number)
        agreed = queries.agreed(queries.votes_on(session, number))
        sums, amounts = queries.sums_of(session, number), queries.amounts_of(session, number)
        return answer(PlanDetail.of(plan, sums, amounts, queries.reasons_of(session, number), agreed=agreed))


@blueprint.get(f"{NUMBER}/operations")
@requires(Permission.BROWSE)
@describes("List the operations of a plan", {200: PlannedPage}, query=ROWS)
def rows(number: int) -> Response:
    """What became of each operation, in the order in which they are done."""
    check_query(request.args, ROWS)
    outcomes, position = parse_choice_set(request.args, "outcome", RowOutcome), parse_position(request.args)
    with read() as session:
        bulk_plans.find(session, actor=actor(), plan_id=number)
        page = queries.list_rows(session, number, outcomes=outcomes, codes=frozenset(), position=position)
    own = [name for name in PlannedOperation.model_fields if name != "operation_id"]
    items = [
        PlannedOperation(operation_id=row.public_id, **{name: getattr(row.BulkRow, name) for name in own})
        for row in page.rows
    ]
    return answer(PlannedPage(items=items, **links_of(page).model_dump()))


@blueprint.post(f"{NUMBER}/start")
@requires(Permission.PROPOSE)
@describes("Start a plan", {200: PlanStanding}, body=PlanStart, once=True)
def start(number: int) -> Response:
    """Send one's own draft with its evidence: it runs, or waits for the second people that policy asks for."""
    asked = read_body(PlanStart)
    canary, rate = (str(given) if given else None for given in (asked.canary, asked.rate))
    form = PlanForm(form_key(), asked.reason_code, asked.note, asked.reference, canary, rate)
    return _step(number, Step.START, form)


@blueprint.post(f"{NUMBER}/approve")
@requires(Permission.APPROVE)
@describes("Approve a plan", {200: PlanStanding}, body=Ballot, once=True)
def approve(number: int) -> Response:
    """Agree to somebody else's plan as a whole."""
    return _remark(number, Step.APPROVE)


@blueprint.post(f"{NUMBER}/reject")
@requires(Permission.APPROVE)
@describes("Reject a plan", {200: PlanStanding}, body=Ballot, once=True)
def reject(number: int) -> Response:
    """Refuse somebody else's plan, with a note."""
    return _remark(number, Step.REJECT)


@blueprint.post(f"{NUMBER}/withdraw")
@requires(Permission.BROWSE)
@describes("Withdraw a plan", {200: PlanStanding}, body=Ballot, once=True)
def withdraw(number: int) -> Response:
    """Take back one's own plan: what is not done yet is not done any more."""
    return _remark(number, Step.WITHDRAW)


@blueprint.post(f"{NUMBER}/stop")
@requires(Permission.BROWSE)
@describes("Stop a plan", {200: PlanStanding}, body=Ballot, once=True)
def stop(number: int) -> Response:
    """Stop it after the operation in hand; the rest waits."""
    return _remark(number, Step.STOP)


@blueprint.post(f"{NUMBER}/resume")
@requires(Permission.BROWSE)
@describes("Let a plan go on", {200: PlanStanding}, body=Ballot, once=True)
def resume(number: int) -> Response:
    """Go on after a stop, or after the first rows were looked at."""
    return _remark(number, Step.RESUME)


def _remark(number: int, step: Step) -> Response:
    return _step(number, step, PlanForm(form_key(), note=read_body(Ballot).note))


def _step(number: int, step: Step, form: PlanForm) -> Response:
    asking = actor()

    def decide() -> Reply:
        taken = bulk_decisions.decide(
            database(), actor=asking, plan_id=number, step=step, form=form, policies=policies()
        )
        return Reply(PlanStanding(plan_id=taken.plan_id, step=taken.step.value, state=taken.state))

    return around(
        f"plan-{step}", decide, authorise=lambda session: bulk_plans.find(session, actor=asking, plan_id=number)
    )


def _selection(asked: PlanWish) -> Selection:
    if (asked.operation_ids is None) == (asked.filter is None):
        raise InvalidInputError((Problem("operation_ids", "one_of"),))
    if asked.filter is None:
        return Selection(ids=tuple(asked.operation_ids or ()))
    query = asked.filter.as_query()
    return Selection(
        filters=parse_filter(
            query, me=actor().id, zone=UTC, windows=windows_of(policies()), exceptions=asked.filter.exceptions
        )
    )
