"""A change over the API happens once for each idempotency key: the same layer that hosts use, with the key required.

The reservation, the change and its answer are one transaction, so a crash leaves all of it or nothing. Who asks is
authorised again before a stored answer is sent. A refusal is kept nowhere: the key is as if it had never come.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256

from flask import Response, current_app, request
from pydantic import BaseModel
from sqlalchemy.orm import Session

from dashboard.api.answering import JSON, body_of
from dashboard.api.gate import caller
from dashboard.api.problems import SchemaError
from dashboard.api.reading import sent
from dashboard.db import transact
from dashboard.domain.errors import ConflictError, InvalidInputError, OperationsError, Problem
from dashboard.domain.key_syntax import HEADER, read_key
from dashboard.domain.keys import OWN_PREFIX
from dashboard.domain.reservations import Answer, Conflict, Outcome, Owned, Replay, Unfinished
from dashboard.edge.context import database, request_id
from dashboard.idempotency import Idempotency, answers
from dashboard.idempotency.exchange import default_location
from dashboard.services import reservations
from dashboard.services.refusals import Attempt, attempt
from dashboard.services.reservations import Request


@dataclass(frozen=True)
class Reply:
    """What a change answers: a model, its status, and headers to keep with it.

    One that changed nothing, such as "not yet", is not kept: the same key asks anew.
    """

    model: BaseModel
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    keep: bool = True
    media_type: str = JSON


Unit = Callable[[Session], Reply]
Promise = Callable[[Session, bytes], None]


def _lasting(_session: Session, _body: bytes) -> None:
    """What most answers tell stays true."""


def door() -> Idempotency:
    """Give the idempotency layer of this application."""
    found: Idempotency = current_app.extensions["dashboard.idempotency"]
    return found


def key() -> str:
    """Read the key of this request; SchemaError where it is missing or malformed."""
    try:
        return read_key(request.headers.get(HEADER))
    except InvalidInputError as error:
        raise SchemaError([Problem(HEADER, f"idempotency_{each.code}") for each in error.problems]) from error


def once(
    name: str,
    unit: Unit,
    *,
    authorise: Callable[[Session], object],
    tried: Attempt | None = None,
    holds: Promise = _lasting,
) -> Response:
    """Make a change once; where `tried` is given, a refusal is audited as that attempt.

    `holds` is asked before a kept answer is sent again, and raises LostRaceError where that promises what is lost by
    now: whoever is told a second time that the lease is theirs would do the work a second time.
    """
    asked = asked_for(name)

    def whole(session: Session) -> Reply | Outcome:
        authorise(session)
        outcome = reservations.reserve(session, asked)
        if isinstance(outcome, Replay) and outcome.answer:
            holds(session, outcome.answer.body)
        if not isinstance(outcome, Owned):
            return outcome
        reply = unit(session)
        _settle(session, outcome, reply)
        return reply

    found = transact(database(), whole) if tried is None else attempt(database(), tried, whole)
    return respond(found)


def around(name: str, act: Callable[[], Reply], *, authorise: Callable[[Session], object]) -> Response:
    """The same for a change that makes transactions of its own and is itself done once: it may be asked for again.

    Who asks belongs to the content: the vote of one token is not that of another which happens to use the same key.
    """
    asked = replace(asked_for(name, by=caller().actor.id), local_only=True, token=secrets.token_hex(16))

    def take(session: Session) -> Outcome:
        authorise(session)
        return reservations.reserve(session, asked)

    outcome = transact(database(), take)
    if not isinstance(outcome, Owned):
        return respond(outcome, location=default_location(asked))
    try:
        reply = act()
    except OperationsError:
        transact(database(), lambda session: reservations.release(session, outcome))
        raise
    transact(database(), lambda session: _settle(session, outcome, reply))
    return respond(reply)


def form_key() -> str:
    """The name of this request where a service keeps forms apart, whatever characters its key has."""
    return f"api-{sha256(key().encode()).hexdigest()[:40]}"


def _settle(session: Session, owned: Owned, reply: Reply) -> None:
    if not reply.keep:
        reservations.release(session, owned)
        return
    retention = door().rules.of(owned.operation).retention
    reservations.complete(session, owned, kept(reply), retention=retention)


def asked_for(name: str, **more: str) -> Request:
    """The reservation that this request asks for: its content is the address, the body, and what else counts."""
    return door().request(
        tenant=caller().tenant,
        operation=f"{OWN_PREFIX}{name}",
        key=key(),
        payload={"path": request.path, **more, **sent()},
        actor_id=caller().actor.id,
        correlation_id=request_id(),
    )


def kept(reply: Reply) -> Answer:
    """What of a reply is sent again."""
    return Answer(reply.status, (("Content-Type", reply.media_type), *reply.headers.items()), body_of(reply.model))


def respond(found: Reply | Outcome, *, location: str = "") -> Response:
    """Answer with what was done now, or with what the key stood for already."""
    match found:
        case Reply():
            return _response(kept(found))
        case Replay():
            return _response(answers.replay(found))
        case Unfinished():
            return _response(answers.unfinished(found, location=location, profile=door().profile))
        case Conflict():
            raise ConflictError("idempotency_key_reused", fields=found.fields or ())
    raise AssertionError("unreachable")


def _response(given: Answer) -> Response:
    return Response(given.body, given.status, headers=list(given.headers))
