"""Repairs: previewed, done or proposed with evidence, and decided about by others."""

from flask import Blueprint, Response, request
from sqlalchemy.orm import Session

from dashboard.api.action_models import (
    ActionDetail,
    ActionPage,
    ActionPreview,
    ActionWish,
    Ballot,
    Decision,
    Performed,
    preview_of,
)
from dashboard.api.answering import answer, links_of
from dashboard.api.describing import Parameter, describes
from dashboard.api.once import Reply, around, form_key, once
from dashboard.api.parameters import PAGE, choice
from dashboard.api.reading import check_query, read_body
from dashboard.db import clock
from dashboard.domain.actions import ActionName
from dashboard.domain.approval import Vote
from dashboard.domain.errors import NotFoundError
from dashboard.domain.permissions import Permission, scopes
from dashboard.edge.context import actor, database, policies, read, requires
from dashboard.edge.filters import parse_choice_set, parse_person, parse_position
from dashboard.queries import actions as queries
from dashboard.queries.actions import OUTCOMES, STATES, ActionFilter
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.services import actions, approvals
from dashboard.services.action_requests import ActionForm, ActionRequest
from dashboard.services.refusals import Attempt

blueprint = Blueprint("actions", __name__, url_prefix="/api/v1")
ACTIONS = (
    Parameter("action", choice(ActionName), repeated=True),
    Parameter("state", choice(STATES), repeated=True),
    Parameter("outcome", choice(OUTCOMES), repeated=True),
    Parameter("requested_by", {"type": "string", "minLength": 1, "maxLength": 254}),
    *PAGE,
)
NUMBER = f"<int(max={LARGEST_NUMBER}):number>"


@blueprint.get("/operations/<operation_id>/actions/<action>/preview")
@requires(Permission.BROWSE)
@describes("Preview an action", {200: ActionPreview})
def preview(operation_id: str, action: str) -> Response:
    """What an action would do, how risky it is, and who must agree; nothing changes."""
    check_query(request.args, ())
    if action not in set(ActionName):
        raise NotFoundError(action=action)
    with read() as session:
        return answer(preview_of(actions.preview(session, _request(operation_id, ActionName(action)))))


@blueprint.post("/operations/<operation_id>/actions")
@requires(Permission.BROWSE)
@describes("Do or propose an action", {201: Performed}, body=ActionWish, once=True)
def perform(operation_id: str) -> Response:
    """Do the action, or propose it where second people must agree; a refusal is audited."""
    asked = read_body(ActionWish)
    wanted = _request(operation_id, asked.action)
    form = ActionForm(form_key(), asked.revision, asked.reason_code, asked.note, asked.reference, asked.amount)

    def do(session: Session) -> Reply:
        done = actions.perform_in(session, wanted, form)
        return Reply(Performed.model_validate(done), 201, {"Location": f"/api/v1/actions/{done.action_id}"})

    tried = Attempt(wanted.actor, asked.action.value, operation_id, asked.note, asked.reason_code)
    return once("action", do, authorise=lambda session: _visible(session, operation_id), tried=tried)


@blueprint.get("/actions")
@requires(Permission.BROWSE)
@describes("List actions", {200: ActionPage}, query=ACTIONS)
def index() -> Response:
    """What was asked for, newest first."""
    check_query(request.args, ACTIONS)
    filters = ActionFilter(
        actions=parse_choice_set(request.args, "action", ActionName),
        states=parse_choice_set(request.args, "state", STATES),
        outcomes=parse_choice_set(request.args, "outcome", OUTCOMES),
        requested_by=parse_person(request.args, "requested_by", me=actor().id),
    )
    visible, position = scopes(actor().grants, Permission.BROWSE), parse_position(request.args)
    with read() as session:
        page = queries.list_actions(session, filters, scopes=visible, position=position, now=clock(session))
    return answer(ActionPage.of(page.rows, links_of(page)))


@blueprint.get(f"/actions/{NUMBER}")
@requires(Permission.BROWSE)
@describes("Get an action", {200: ActionDetail})
def show(number: int) -> Response:
    """One action, and whether its effect is verified."""
    check_query(request.args, ())
    with read() as session:
        found = queries.get_action(session, number, scopes=scopes(actor().grants, Permission.BROWSE))
    hiding = policies().of(found.Operation.type).hiding(found.Operation.expected)
    return answer(ActionDetail.of(found, hiding))


@blueprint.post(f"/actions/{NUMBER}/approve")
@requires(Permission.APPROVE)
@describes("Approve a proposal", {200: Decision}, body=Ballot, once=True)
def approve(number: int) -> Response:
    """Agree to what somebody else proposed; the last approval that is needed carries it out."""
    return _vote(number, Vote.APPROVE)


@blueprint.post(f"/actions/{NUMBER}/reject")
@requires(Permission.APPROVE)
@describes("Reject a proposal", {200: Decision}, body=Ballot, once=True)
def reject(number: int) -> Response:
    """Refuse what somebody else proposed, with a note."""
    return _vote(number, Vote.REJECT)


@blueprint.post(f"/actions/{NUMBER}/withdraw")
@requires(Permission.BROWSE)
@describes("Withdraw a proposal", {200: Decision}, body=Ballot, once=True)
def withdraw(number: int) -> Response:
    """Take back what this token proposed."""
    return _vote(number, Vote.WITHDRAW)


def _vote(number: int, vote: Vote) -> Response:
    asked, key, asking = read_body(Ballot), form_key(), actor()

    def decide() -> Reply:
        decided = approvals.decide(
            database(),
            actor=asking,
            action_id=number,
            decision=vote,
            note=asked.note,
            idempotency_key=key,
            policies=policies(),
        )
        return Reply(Decision.model_validate(decided))

    return around(vote.value, decide, authorise=lambda session: approvals.find(session, actor=asking, action_id=number))


def _request(operation_id: str, action: ActionName) -> ActionRequest:
    return ActionRequest(actor(), operation_id, action, policies())


def _visible(session: Session, operation_id: str) -> object:
    return actions.find(session, actor=actor(), operation_id=operation_id)
