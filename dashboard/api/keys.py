"""Idempotency keys of hosts: taken, settled by their owner, and looked up."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy.orm import Session
from werkzeug.routing import BaseConverter

from dashboard.api.answering import answer
from dashboard.api.describing import describes
from dashboard.api.gate import caller
from dashboard.api.key_models import (
    KeyPolicy,
    KeyStanding,
    Named,
    Owner,
    PendingRequest,
    PolicyRow,
    ReserveRequest,
    SettleRequest,
    kept_of,
    told,
)
from dashboard.api.once import Reply, door, once
from dashboard.api.problem_models import problem_of
from dashboard.api.problems import MEDIA_TYPE
from dashboard.api.reading import check_query, read_body, sent
from dashboard.domain.errors import ConflictError, InvalidInputError, NotAllowedError, Problem
from dashboard.domain.keys import OWN_PREFIX
from dashboard.domain.permissions import Permission, allows
from dashboard.domain.reservations import Answer, Conflict, Outcome, Owned, Replay, Unfinished
from dashboard.edge.context import actor, read, request_id, requires
from dashboard.idempotency.exchange import allowed
from dashboard.services import reservations

blueprint = Blueprint("keys", __name__, url_prefix="/api/v1/idempotency")


class WholeConverter(BaseConverter):
    """The rest of an address, slashes and all: keys may hold any of them."""

    regex = ".+"
    part_isolating = False


@blueprint.get("/policy")
@requires(Permission.RESERVE)
@describes("For how long keys are kept", {200: KeyPolicy})
def policy() -> Response:
    """What holds for keys, by operation the token may name."""
    check_query(request.args, ())
    rows = [PolicyRow.model_validate(row) for row in door().rules.published()]
    return answer(KeyPolicy(operations=[row for row in rows if row.operation == "*" or _may_name(row.operation)]))


@blueprint.get("/<operation>/<whole:key>")
@requires(Permission.RESERVE)
@describes("What a key stands for", {200: KeyStanding})
def show(operation: str, key: str) -> Response:
    """What a key stands for, without taking it."""
    check_query(request.args, ())
    named = Named.model_construct(operation=operation, key=key)
    with read() as session:
        _authorise(session, named)
        found = reservations.read(session, tenant=caller().tenant, operation=operation, key=key)
    return answer(_standing(named, found))


@blueprint.post("/reserve")
@requires(Permission.RESERVE)
@describes("Reserve a key", {201: KeyStanding, 200: KeyStanding, 202: KeyStanding}, body=ReserveRequest, once=True)
def reserve() -> Response:
    """Take the key (201), or learn what it stands for: its answer (200), not finished (202), other content (409)."""
    asked = read_body(ReserveRequest)

    def owned(session: Session, body: bytes) -> None:
        token = json.loads(body)["owner_token"]
        reservations.check_owned(session, Owned(caller().tenant, asked.operation, asked.key, token))

    return once(
        "reserve",
        lambda session: _reserve(session, asked),
        authorise=lambda session: _writes(session, asked),
        holds=owned,
    )


@blueprint.post("/complete")
@requires(Permission.RESERVE)
@describes("Complete the work behind a key", {200: KeyStanding}, body=SettleRequest, once=True)
def complete() -> Response:
    """The work was done: keep its answer."""
    return _settled("complete", reservations.complete)


@blueprint.post("/fail")
@requires(Permission.RESERVE)
@describes("Close a key without an effect", {200: KeyStanding}, body=SettleRequest, once=True)
def fail() -> Response:
    """The work ended without an effect and that is certain: keep its answer."""
    return _settled("fail", reservations.fail, resources=False)


@blueprint.post("/pending")
@requires(Permission.RESERVE)
@describes("Leave a key pending", {200: KeyStanding}, body=PendingRequest, once=True)
def pending() -> Response:
    """What the work did is not known: it is not run again, and the reconciler settles it with its operation."""
    asked = read_body(PendingRequest)

    def leave(session: Session) -> Reply:
        bound = {"external_reference": asked.external_reference, "operation_id": asked.operation_id}
        reservations.leave_pending(session, _owned(session, asked), **bound)
        return Reply(_known(session, asked))

    return once("pending", leave, authorise=lambda session: _writes(session, asked))


@blueprint.post("/release")
@requires(Permission.RESERVE)
@describes("Give a key back", {200: Named}, body=Owner, once=True)
def release() -> Response:
    """Nothing was begun: the key may be used again as if it had never come."""
    asked = read_body(Owner)

    def give_back(session: Session) -> Reply:
        reservations.release(session, _owned(session, asked))
        return Reply(Named(operation=asked.operation, key=asked.key))

    return once("release", give_back, authorise=lambda session: _writes(session, asked))


def _reserve(session: Session, asked: ReserveRequest) -> Reply:
    made = replace(_request(asked), lease=timedelta(seconds=asked.lease_seconds), local_only=False)
    found = reservations.reserve(session, made)
    match found:
        case Owned():
            return Reply(_standing(asked, found, lease=asked.lease_seconds), 201)
        case Conflict():
            # The count of conflicts is kept, so this is no error that undoes the transaction.
            refused = ConflictError("idempotency_key_reused", fields=found.fields or ())
            return Reply(problem_of(refused, status=409), 409, keep=False, media_type=MEDIA_TYPE)
        case Replay():
            return Reply(_standing(asked, found), 200, keep=False)
    headers = {"Retry-After": str(math.ceil(found.retry_after.total_seconds()))}
    return Reply(_standing(asked, found), 202, headers, keep=False)


def _request(asked: ReserveRequest) -> reservations.Request:
    if ("payload" in sent()) == (asked.fingerprint is not None):
        problems = [Problem(name, "one_of") for name in ("payload", "fingerprint")]
        raise InvalidInputError(problems)
    named: dict[str, Any] = {
        "tenant": caller().tenant,
        "operation": asked.operation,
        "key": asked.key,
        "actor_id": actor().id,
        "correlation_id": asked.correlation_id or request_id(),
        "operation_id": asked.operation_id,
    }
    if asked.fingerprint is not None:
        return door().request_for(**named, fingerprint=asked.fingerprint)
    return door().request(**named, payload=sent()["payload"])


def _settled(name: str, settle: Callable[..., None], *, resources: bool = True) -> Response:
    asked = read_body(SettleRequest)

    def record(session: Session) -> Reply:
        rules = door().rules.of(asked.operation)
        bound: dict[str, Any] = {"external_reference": asked.external_reference, "operation_id": asked.operation_id}
        if resources:
            bound["resource_ids"] = asked.resource_ids
        settle(session, _owned(session, asked), _kept(asked), retention=rules.retention, **bound)
        return Reply(_known(session, asked))

    return once(name, record, authorise=lambda session: _writes(session, asked))


def _kept(asked: SettleRequest) -> Answer | None:
    if asked.answer is None:
        return None
    rules, given = door().rules.of(asked.operation), kept_of(asked.answer)
    if len(given.body) > rules.max_answer:
        raise InvalidInputError((Problem("answer.body", "answer_too_large"),))
    return replace(given, headers=allowed(given.headers, rules))


def _owned(session: Session, asked: Owner) -> Owned:
    # A key that nobody took is told apart from one that somebody else has.
    reservations.read(session, tenant=caller().tenant, operation=asked.operation, key=asked.key)
    return Owned(caller().tenant, asked.operation, asked.key, asked.owner_token)


def _known(session: Session, asked: Named) -> KeyStanding:
    found = reservations.read(session, tenant=caller().tenant, operation=asked.operation, key=asked.key)
    return _standing(asked, found)


def _may_name(operation: str) -> bool:
    return allows(actor().grants, Permission.RESERVE, tenant=caller().tenant, type=operation)


def _authorise(_session: Session, asked: Named) -> None:
    if not _may_name(asked.operation):
        raise NotAllowedError(permission=Permission.RESERVE.value)


def _writes(session: Session, asked: Named) -> None:
    _authorise(session, asked)
    if asked.operation.startswith(OWN_PREFIX):
        raise InvalidInputError((Problem("operation", "operation_reserved"),))


def _standing(asked: Named, found: Outcome, *, lease: int | None = None) -> KeyStanding:
    named: dict[str, Any] = {"operation": asked.operation, "key": asked.key}
    match found:
        case Owned():
            return KeyStanding(
                outcome="owned", state="processing", owner_token=found.token, lease_seconds=lease, **named
            )
        case Replay():
            # What this API answered under its own keys is sent again only to who repeats the call itself.
            ours = asked.operation.startswith(OWN_PREFIX)
            return KeyStanding(
                outcome="replay",
                state=found.state.value,
                answer=None if ours else told(found),
                expired=found.expired,
                completed_at=found.completed_at,
                expires_at=found.expires_at,
                resource_ids=list(found.resource_ids),
                external_reference=found.external_reference,
                operation_id=found.operation_id,
                **named,
            )
        case Unfinished():
            wait = math.ceil(found.retry_after.total_seconds())
            return KeyStanding(outcome="unfinished", state=found.state.value, retry_after_seconds=wait, **named)
    raise AssertionError("unreachable")
