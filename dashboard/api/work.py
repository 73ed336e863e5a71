"""Work done elsewhere: a program claims due operations and says under its lease what became of each."""

import json
from collections.abc import Callable
from datetime import timedelta

from flask import Blueprint, Response
from sqlalchemy.orm import Session

from dashboard.api.describing import describes
from dashboard.api.gate import caller
from dashboard.api.once import Reply, once
from dashboard.api.operation_models import (
    Attempted,
    ClaimedOperation,
    ClaimRequest,
    Claims,
    Heartbeat,
    HeartbeatRequest,
    Held,
    Proven,
    Retried,
    Standing,
)
from dashboard.api.reading import read_body
from dashboard.domain.causes import Failure
from dashboard.domain.errors import LostRaceError, NotAllowedError
from dashboard.domain.permissions import Actor, Permission, allows
from dashboard.domain.states import Cause, State
from dashboard.domain.work import Confirmed, Sent, Work
from dashboard.edge.context import actor, policies, requires
from dashboard.services import attempts, remote_work
from dashboard.services.action_requests import find
from dashboard.services.attempts import Unsent

blueprint = Blueprint("work", __name__, url_prefix="/api/v1")

Outcome = Callable[[Session, Work], State]


@blueprint.post("/claims")
@requires(Permission.WORK)
@describes("Claim due operations", {200: Claims}, body=ClaimRequest, once=True)
def claim() -> Response:
    """Take due operations of these types, under one lease; the claim counts the attempt."""
    asked, asking, tenant = read_body(ClaimRequest), actor(), caller().tenant

    def authorise(_session: Session) -> None:
        # An answer that is sent again names these types: it must not reach who may not work on them.
        if not all(allows(asking.grants, Permission.WORK, tenant=tenant, type=kind) for kind in asked.types):
            raise NotAllowedError(permission=Permission.WORK.value)

    return once("claim", lambda session: _claim(session, asked), authorise=authorise, holds=_still_claimed)


@blueprint.post("/operations/<operation_id>/heartbeat")
@requires(Permission.WORK)
@describes("Extend a lease", {200: Heartbeat}, body=HeartbeatRequest, once=True)
def heartbeat(operation_id: str) -> Response:
    """Hold the operation for longer, from now; 409 where the lease is lost, and then send nothing more."""
    asked = read_body(HeartbeatRequest)

    def beat(session: Session) -> Reply:
        work = _held(session, operation_id, asked)
        until = remote_work.heartbeat(session, work, lease=timedelta(seconds=asked.lease_seconds))
        return Reply(Heartbeat(operation_id=operation_id, lease_until=until))

    def held(session: Session, _body: bytes) -> None:
        remote_work.check_lease(session, operation_ids=(operation_id,), token=asked.lease_token)

    return once("heartbeat", beat, authorise=lambda session: _visible(session, operation_id), holds=held)


@blueprint.post("/operations/<operation_id>/attempt")
@requires(Permission.WORK)
@describes("Note a failed try", {200: Standing}, body=Attempted, once=True)
def attempt(operation_id: str) -> Response:
    """Note a try that failed and keep the operation in hand, such as before an immediate second one."""
    asked = read_body(Attempted)

    def note(session: Session, work: Work) -> State:
        attempts.record_attempt(session, work, _failure(asked), policies=policies(), actor=_worker())
        return State.PROCESSING

    return _settled("attempt", operation_id, asked, note)


@blueprint.post("/operations/<operation_id>/confirm")
@requires(Permission.WORK)
@describes("Confirm the effect", {200: Standing}, body=Proven, once=True)
def confirm(operation_id: str) -> Response:
    """The destination said that the effect exists; without id or evidence it is asked instead."""
    asked = read_body(Proven)
    outcome = Confirmed(asked.remote_id, asked.evidence)
    return _settled(
        "confirm",
        operation_id,
        asked,
        lambda session, work: attempts.confirm(session, work, outcome, policies=policies(), actor=_worker()),
    )


@blueprint.post("/operations/<operation_id>/await")
@requires(Permission.WORK)
@describes("Await confirmation", {200: Standing}, body=Proven, once=True)
def await_confirmation(operation_id: str) -> Response:
    """The destination took the request and confirms later: the reconciler asks."""
    asked = read_body(Proven)
    outcome = Sent(asked.remote_id, asked.evidence)
    return _settled(
        "await",
        operation_id,
        asked,
        lambda session, work: attempts.await_confirmation(session, work, outcome, policies=policies(), actor=_worker()),
    )


@blueprint.post("/operations/<operation_id>/fail")
@requires(Permission.WORK)
@describes("Report a failed attempt", {200: Standing}, body=Attempted, once=True)
def fail(operation_id: str) -> Response:
    """The attempt failed: the cause decides between another attempt, a look at the destination, and a person."""
    asked = read_body(Attempted)
    return _settled(
        "fail",
        operation_id,
        asked,
        lambda session, work: attempts.fail(session, work, _failure(asked), policies=policies(), actor=_worker()),
    )


@blueprint.post("/operations/<operation_id>/retry")
@requires(Permission.WORK)
@describes("Plan another attempt", {200: Standing}, body=Retried, once=True)
def retry(operation_id: str) -> Response:
    """Nothing was sent: try again, not before `after_seconds`; a person decides once the attempts are used up."""
    asked = read_body(Retried)
    after = None if asked.after_seconds is None else timedelta(seconds=asked.after_seconds)
    return _settled(
        "retry",
        operation_id,
        asked,
        lambda session, work: attempts.schedule_retry(
            session, work, _failure(asked), policies=policies(), actor=_worker(), after=after
        ),
    )


@blueprint.post("/operations/<operation_id>/review")
@requires(Permission.WORK)
@describes("Ask a person", {200: Standing}, body=Attempted, once=True)
def review(operation_id: str) -> Response:
    """Another attempt would fail the same way: a person must decide."""
    asked = read_body(Attempted)
    return _settled(
        "review",
        operation_id,
        asked,
        lambda session, work: attempts.send_to_review(
            session, work, _failure(asked), policies=policies(), actor=_worker()
        ),
    )


@blueprint.post("/operations/<operation_id>/release")
@requires(Permission.WORK)
@describes("Put back what was not begun", {200: Standing}, body=Held, once=True)
def release(operation_id: str) -> Response:
    """Put back a claimed operation of which nothing was sent; the attempt is not counted."""
    return _settled("release", operation_id, read_body(Held), _put_back)


def _claim(session: Session, asked: ClaimRequest) -> Reply:
    found = remote_work.claim(
        session,
        actor=actor(),
        types=asked.types,
        limit=asked.limit,
        lease=timedelta(seconds=asked.lease_seconds),
        policies=policies(),
    )
    token = found.works[0].token if found.works else None
    told = Claims(lease_token=token, lease_until=found.until, operations=[_claimed(work) for work in found.works])
    return Reply(told, keep=bool(found.works))


def _still_claimed(session: Session, body: bytes) -> None:
    told = json.loads(body)
    ids = [row["operation_id"] for row in told["operations"]]
    remote_work.check_lease(session, operation_ids=ids, token=told["lease_token"])


def _claimed(work: Work) -> ClaimedOperation:
    amount = None if work.amount is None else format(work.amount, "f")
    values = {name: getattr(work, name) for name in ClaimedOperation.model_fields}
    return ClaimedOperation.model_validate({**values, "amount": amount})


def _settled(name: str, operation_id: str, asked: Held, outcome: Outcome) -> Response:
    def settle(session: Session) -> Reply:
        state = outcome(session, _held(session, operation_id, asked))
        return Reply(Standing(operation_id=operation_id, state=state))

    return once(name, settle, authorise=lambda session: _visible(session, operation_id))


def _put_back(session: Session, work: Work) -> State:
    if attempts.settle(session, [(work, Unsent())], policies=policies(), actor=_worker()):
        raise LostRaceError(operation_id=work.operation_id)
    return State.RETRY_SCHEDULED


def _visible(session: Session, operation_id: str) -> object:
    return find(session, actor=actor(), operation_id=operation_id, permission=Permission.WORK)


def _held(session: Session, operation_id: str, asked: Held) -> Work:
    return remote_work.held(session, actor=actor(), operation_id=operation_id, token=asked.lease_token)


def _worker() -> Actor:
    return remote_work.as_worker(actor())


def _failure(asked: Attempted | Retried) -> Failure:
    return Failure(Cause(asked.cause), reason=asked.reason, status=asked.status, retry_after=asked.retry_after)
