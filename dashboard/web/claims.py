"""Claiming an operation, giving it back, and taking it over from somebody with a note that says why."""

from typing import NamedTuple
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from dashboard.db import clock
from dashboard.domain.errors import ConflictError, InvalidInputError
from dashboard.domain.permissions import Permission, allows
from dashboard.domain.states import OPEN
from dashboard.models import Operation
from dashboard.services import claims
from dashboard.services.actions import find
from dashboard.web.context import actor, database, read, requires
from dashboard.web.formatting import clock_time
from dashboard.web.language import gettext
from dashboard.web.wording import by_field

blueprint = Blueprint("claims", __name__, url_prefix="/operations")


class Holding(NamedTuple):
    """Who is at an operation as one person sees it: `nobody`, `me` or `other`; and whether they may claim it."""

    by: str
    may_claim: bool
    key: str


def holding(operation: Operation, *, held: bool) -> Holding:
    """Say who is at it, for its page."""
    may = allows(actor().grants, Permission.CLAIM, tenant=operation.tenant, type=operation.type)
    by = "nobody" if not held else "me" if operation.assigned_to == actor().id else "other"
    return Holding(by, may and operation.state in OPEN, uuid4().hex)


@blueprint.get("/<operation_id>/claim")
@requires(Permission.CLAIM)
def form(operation_id: str) -> ResponseReturnValue:
    """Show how to take it over; where nobody has it there is nothing to show."""
    return _page(operation_id)


@blueprint.post("/<operation_id>/claim")
@requires(Permission.CLAIM)
def claim(operation_id: str) -> ResponseReturnValue:
    """Claim it, or take it over where the form has a note."""
    note = request.form.get("note")
    if "idempotency_key" not in request.form:
        return _page(operation_id, note=note or "", status=422)
    try:
        done = claims.claim(database(), actor=actor(), operation_id=operation_id, note=note)
    except InvalidInputError as error:
        return _page(operation_id, note=note or "", problem=" ".join(by_field(error).values()), status=422)
    except ConflictError as error:
        if error.code != "claimed":
            raise
        return _page(operation_id, status=409)
    assert done.until is not None  # noqa: S101 - a claim always ends
    flash(gettext("It is yours until %(at)s. Others see that, and cannot act on it.", at=clock_time(done.until)), "ok")
    return _to(operation_id)


@blueprint.get("/<operation_id>/release")
@requires(Permission.CLAIM)
def back(operation_id: str) -> ResponseReturnValue:
    """Go to the operation: this is the address the browser is left at when it was not released."""
    return _to(operation_id, code=302)


@blueprint.post("/<operation_id>/release")
@requires(Permission.CLAIM)
def release(operation_id: str) -> ResponseReturnValue:
    """Give it back."""
    if "idempotency_key" in request.form:
        claims.release(database(), actor=actor(), operation_id=operation_id)
        flash(gettext("It is nobody's now."), "ok")
    return _to(operation_id)


def _page(operation_id: str, *, note: str = "", problem: str = "", status: int = 200) -> ResponseReturnValue:
    with read() as session:
        operation = find(session, actor=actor(), operation_id=operation_id)
        held = claims.is_held(operation, now=clock(session))
    if not held or operation.assigned_to == actor().id:
        return _to(operation_id, code=302 if request.method == "GET" else 303)
    page = render_template(
        "operations/claim.html", operation=operation, note=note, problem=problem, form_key=uuid4().hex
    )
    return page, status


def _to(operation_id: str, *, code: int = 303) -> ResponseReturnValue:
    return redirect(url_for("operations.show", operation_id=operation_id), code)
