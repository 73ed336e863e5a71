"""Operations: registered, read, listed under the filters of the screens, and taken back."""

from zoneinfo import ZoneInfo

from flask import Blueprint, Response, request
from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.api.answering import answer, links_of
from dashboard.api.describing import Parameter, describes
from dashboard.api.gate import caller
from dashboard.api.once import Reply, once
from dashboard.api.operation_models import (
    EventPage,
    EventRow,
    OperationDetail,
    OperationPage,
    OperationRow,
    Registered,
    Registration,
    Standing,
    Withdrawal,
)
from dashboard.api.parameters import OPERATIONS, PAGE
from dashboard.api.reading import check_query, read_body
from dashboard.db import clock
from dashboard.domain.ages import windows_of
from dashboard.domain.errors import NotAllowedError
from dashboard.domain.masking import Hiding, hide, hide_text
from dashboard.domain.permissions import Permission, allows, scopes
from dashboard.domain.states import State
from dashboard.domain.work import Message, NewOperation
from dashboard.edge.context import actor, policies, read, requires
from dashboard.edge.filters import parse_flag, parse_position
from dashboard.edge.operation_filters import parse_filter, parse_sort
from dashboard.models import Operation
from dashboard.queries import operations as queries
from dashboard.queries.history import TimelineEntry, last_probe, list_events
from dashboard.services import registration
from dashboard.services.action_requests import find
from dashboard.services.registration import OperationIdTakenError

blueprint = Blueprint("operations", __name__, url_prefix="/api/v1/operations")
UTC = ZoneInfo("UTC")
REGISTERED = "register"
WITHDRAWN = "withdraw"


@blueprint.post("")
@requires(Permission.REGISTER)
@describes("Register an operation", {201: Registered, 200: Registered}, body=Registration, once=True)
def register() -> Response:
    """Write an operation down, and the message that announces it; the same registration again changes nothing."""
    asked, tenant, asking = read_body(Registration), caller().tenant, actor()

    def authorise(_session: Session) -> None:
        if not allows(asking.grants, Permission.REGISTER, tenant=tenant, type=asked.type):
            raise NotAllowedError(permission=Permission.REGISTER.value)

    return once(REGISTERED, lambda session: _register(session, asked, tenant=tenant), authorise=authorise)


@blueprint.get("")
@requires(Permission.BROWSE)
@describes("List operations", {200: OperationPage}, query=OPERATIONS)
def index() -> Response:
    """One page of the operations that the token may see."""
    check_query(request.args, OPERATIONS)
    filters = parse_filter(
        request.args,
        me=actor().id,
        zone=UTC,
        windows=windows_of(policies()),
        exceptions=parse_flag(request.args, "exceptions"),
    )
    sort = parse_sort(request.args, filters, default="newest")
    position = parse_position(request.args)
    visible = scopes(actor().grants, Permission.BROWSE)
    with read() as session:
        now = clock(session)
        page = queries.list_operations(session, filters, scopes=visible, sort=sort, position=position, now=now)
    items = [OperationRow.model_validate(row) for row in page.rows]
    return answer(OperationPage(items=items, **links_of(page).model_dump()))


@blueprint.get("/<operation_id>")
@requires(Permission.BROWSE)
@describes("Get an operation", {200: OperationDetail})
def show(operation_id: str) -> Response:
    """One operation, with what must exist at its destination."""
    check_query(request.args, ())
    with read() as session:
        operation = find(session, actor=actor(), operation_id=operation_id)
        return answer(_detail(session, operation))


EVENTS: tuple[Parameter, ...] = PAGE


@blueprint.get("/<operation_id>/events")
@requires(Permission.BROWSE)
@describes("List the events of an operation", {200: EventPage}, query=EVENTS)
def events(operation_id: str) -> Response:
    """What happened to an operation, oldest first."""
    check_query(request.args, EVENTS)
    position = parse_position(request.args)
    with read() as session:
        operation = find(session, actor=actor(), operation_id=operation_id)
        page = list_events(session, operation.id, position=position)
        hiding = _hiding(session, operation)
    items = [_event(entry, hiding) for entry in page.rows]
    return answer(EventPage(items=items, **links_of(page).model_dump()))


@blueprint.post("/<operation_id>/withdraw")
@requires(Permission.REGISTER)
@describes("Withdraw an operation", {200: Standing}, body=Withdrawal, once=True)
def withdraw(operation_id: str) -> Response:
    """Take back an operation that nobody has begun."""
    asked, asking = read_body(Withdrawal), actor()

    def take_back(session: Session) -> Reply:
        registration.withdraw(session, operation_id=operation_id, reason=asked.reason, actor=asking)
        return Reply(Standing(operation_id=operation_id, state=State.NOT_APPLICABLE))

    def authorise(session: Session) -> Operation:
        return find(session, actor=asking, operation_id=operation_id, permission=Permission.REGISTER)

    return once(WITHDRAWN, take_back, authorise=authorise)


def _register(session: Session, asked: Registration, *, tenant: str) -> Reply:
    new = NewOperation(tenant=tenant, **asked.model_dump(exclude={"message"}))
    message = Message(**asked.message.model_dump()) if asked.message else None
    try:
        done = registration.register(session, new, policies=policies(), actor=actor(), message=message)
    except OperationIdTakenError:
        _hide_others(session, asked.operation_id, tenant=tenant)
        raise
    state = session.scalars(select(Operation.state).where(Operation.operation_id == asked.operation_id)).one()
    told = Registered(operation_id=done.operation_id, new=done.new, state=State(state))
    location = {"Location": f"{blueprint.url_prefix}/{done.operation_id}"}
    return Reply(told, 201 if done.new else 200, location)


def _hide_others(session: Session, operation_id: str, *, tenant: str) -> None:
    """Of an operation outside of what the token may write, nothing is told but that the id is taken."""
    row = session.execute(
        select(Operation.tenant, Operation.type).where(Operation.operation_id == operation_id)
    ).one_or_none()
    if row and not (row.tenant == tenant and allows(actor().grants, Permission.REGISTER, tenant=tenant, type=row.type)):
        raise OperationIdTakenError from None


def _detail(session: Session, operation: Operation) -> OperationDetail:
    parent = session.get(Operation, operation.parent_id) if operation.parent_id else None
    visible = parent and allows(actor().grants, Permission.BROWSE, tenant=parent.tenant, type=parent.type)
    shown = {
        name: getattr(operation, name) for name in OperationDetail.model_fields if name not in {"parent", "expected"}
    }
    expected = hide(operation.expected or {}, _hiding(session, operation))
    return OperationDetail(**shown, parent=parent.operation_id if parent and visible else None, expected=expected)


def _event(entry: TimelineEntry, hiding: Hiding) -> EventRow:
    evidence = hide(entry.evidence, hiding) if isinstance(entry.evidence, dict) else None
    reason = hide_text(entry.reason, hiding) if entry.reason else entry.reason
    return EventRow.model_validate({**entry._asdict(), "evidence": evidence, "reason": reason})


def _hiding(session: Session, operation: Operation) -> Hiding:
    """What policy keeps from sight, wherever it is stored."""
    probe = last_probe(session, operation.id)
    return policies().of(operation.type).hiding(operation.expected, probe.actual if probe else None)
