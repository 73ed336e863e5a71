"""One operation: what it is, what happened to it, what can be done, and the notes people leave on it."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from dashboard.domain.errors import InvalidInputError, NotFoundError
from dashboard.domain.exceptions import Why, why_here
from dashboard.domain.masking import Hiding
from dashboard.domain.permissions import Permission, scopes
from dashboard.domain.states import OPEN, Cause, State, known
from dashboard.domain.verdicts import Verdict
from dashboard.models import Operation
from dashboard.queries.bulk import plans_of
from dashboard.queries.detail import Detail, detail_of
from dashboard.queries.history import Probe, event_of, last_probe
from dashboard.queries.reveals import revealed_fields, reveals_of
from dashboard.services import notes
from dashboard.services.actions import find
from dashboard.services.claims import is_held
from dashboard.services.offers import offers
from dashboard.web import context
from dashboard.web.claims import holding
from dashboard.web.context import actor, database, policies, read, requires
from dashboard.web.differences import Difference, checked_differences
from dashboard.web.language import gettext
from dashboard.web.naming import operation_title, versioned_entity
from dashboard.web.offers import impossible, possible
from dashboard.web.sentences import Told, tell
from dashboard.web.timeline import event_row, timeline_rows
from dashboard.web.wording import by_field

blueprint = Blueprint("operations", __name__, url_prefix="/operations")
blueprint.add_app_template_filter(operation_title, "operation_title")
blueprint.add_app_template_filter(versioned_entity, "versioned_entity")


@blueprint.get("/<operation_id>")
@requires(Permission.BROWSE)
def show(operation_id: str) -> str:
    """Show the operation."""
    return _page(operation_id)


@blueprint.get("/<operation_id>/events/<int(max=2147483647):seq>")
@requires(Permission.BROWSE)
def event(operation_id: str, seq: int) -> str:
    """Show one event with all of its text."""
    with read() as session:
        operation = find(session, actor=actor(), operation_id=operation_id)
        found = event_of(session, operation.id, seq)
        probe = last_probe(session, operation.id)
    if found is None:
        raise NotFoundError(operation_id=operation_id, seq=seq)
    return render_template(
        "operations/event.html", operation=operation, event=event_row(found, hidden=_hidden(operation, probe))
    )


@blueprint.get("/<operation_id>/notes")
@requires(Permission.BROWSE)
def note_form(operation_id: str) -> ResponseReturnValue:
    """Go to the form: this is the address the browser is left at when a note was refused."""
    return redirect(url_for("operations.show", operation_id=operation_id, _anchor="note"))


@blueprint.post("/<operation_id>/notes")
@requires(Permission.BROWSE)
def add_note(operation_id: str) -> ResponseReturnValue:
    """Add a note; the same form sent twice adds it once."""
    text, key = request.form.get("note"), request.form.get("idempotency_key")
    if key is None:
        return _page(operation_id, note=text or "", came_back=True), 422
    try:
        added = notes.add_note(database(), actor=actor(), operation_id=operation_id, idempotency_key=key, text=text)
    except InvalidInputError as error:
        return _page(operation_id, note=text or "", problem=" ".join(by_field(error).values())), 422
    if added:
        flash(gettext("Your note was added."), "ok")
    else:
        flash(gettext("This note had been added before. It was not added twice."), "info")
    return redirect(url_for("operations.show", operation_id=operation_id), 303)


def _page(operation_id: str, *, note: str = "", problem: str = "", came_back: bool = False) -> str:
    asking = actor()
    with read() as session:
        operation = find(session, actor=asking, operation_id=operation_id)
        now = context.now()
        detail = detail_of(session, operation, scopes=scopes(asking.grants, Permission.BROWSE), now=now)
        offered = offers(session, operation, actor=asking, policies=policies(), now=now)
        revealed = revealed_fields(session, operation.id, person=asking.id, now=now)
        reveals = reveals_of(session, operation.id)
        plans = plans_of(session, operation.id, scopes=scopes(asking.grants, Permission.BROWSE))
    hidden = _hidden(operation, detail.probe)
    seen = _hidden(operation, detail.probe, revealed=revealed)
    compared = checked_differences(operation.expected, detail.probe, hidden=seen)
    return render_template(
        "operations/show.html",
        operation=operation,
        policy=policies().of(operation.type),
        honours_key=policies().honours_key(operation.destination),
        sentence=tell(_told(operation, detail, compared, now=now)),
        why=_why(operation, now=now),
        detail=detail,
        holding=holding(operation, held=is_held(operation, now=now)),
        compared=compared,
        revealed=revealed,
        reveals=reveals,
        plans=plans,
        timeline=timeline_rows(detail.timeline, hidden=hidden),
        possible=possible(offered),
        impossible=impossible(offered),
        now=now,
        note=note,
        note_key=uuid4().hex,
        problem=problem,
        came_back=came_back,
    )


def _told(operation: Operation, detail: Detail, compared: Sequence[Difference], *, now: datetime) -> Told:
    return Told(
        operation=operation,
        description=policies().of(operation.type).description,
        timeline=detail.timeline,
        probe=detail.probe,
        differing=[field for field in compared if field.differs],
        compensating=any(child.state in OPEN for child in detail.children),
        now=now,
    )


def _why(operation: Operation, *, now: datetime) -> tuple[Why, ...]:
    return why_here(
        state=State(operation.state),
        verdict=known(Verdict, operation.verdict),
        cause=known(Cause, operation.cause),
        deadline_at=operation.deadline_at,
        now=now,
    )


def _hidden(operation: Operation, probe: Probe | None = None, *, revealed: Collection[str] = ()) -> Hiding:
    """What policy keeps off the screen, wherever it is stored."""
    sides = (operation.expected, probe.actual if probe else None)
    return policies().of(operation.type).hiding(*sides, revealed=revealed)
