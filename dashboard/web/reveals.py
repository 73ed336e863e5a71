"""Revealing a masked field: a page that says what that means, and the form that does it, on the record."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from dashboard.domain.errors import InvalidInputError, NotAllowedError, NotFoundError
from dashboard.domain.permissions import Permission
from dashboard.domain.text import visible
from dashboard.models import Operation
from dashboard.services import reveals
from dashboard.services.actions import find
from dashboard.web.context import actor, database, policies, read, requires
from dashboard.web.language import gettext
from dashboard.web.wording import by_field

blueprint = Blueprint("reveals", __name__, url_prefix="/operations")

FIELDS = ("field", "note")
MINUTES = int(reveals.LASTS.total_seconds() // 60)


@dataclass(frozen=True)
class Typed:
    """What the form shows again, what is wrong with it, and whether it only came back."""

    field: str = ""
    note: str = ""
    problems: Mapping[str, str] | None = None
    came_back: bool = False


@blueprint.app_template_test("revealable")
def revealable(operation: Operation) -> bool:
    """Tell whether the operation has masked fields and the person may reveal them."""
    return bool(reveals.masks(operation, policies=policies())) and reveals.may_reveal(operation, actor=actor())


@blueprint.get("/<operation_id>/reveal")
@requires(Permission.REVEAL)
def form(operation_id: str) -> ResponseReturnValue:
    """Show which fields are masked, and what revealing one means; reveals nothing."""
    return _page(operation_id, Typed(field=request.args.get("field", "")))


@blueprint.post("/<operation_id>/reveal")
@requires(Permission.REVEAL)
def reveal(operation_id: str) -> ResponseReturnValue:
    """Lift the mask for this person for some minutes, and go back to the operation."""
    key, field, note = (request.form.get(name) for name in ("idempotency_key", *FIELDS))
    if key is None:
        return _page(operation_id, Typed(field or "", note or "", came_back=True), status=422)
    try:
        reveals.reveal(
            database(),
            actor=actor(),
            operation_id=operation_id,
            field=field,
            note=note,
            idempotency_key=key,
            policies=policies(),
        )
    except InvalidInputError as error:
        return _page(operation_id, Typed(field or "", note or "", by_field(error)), status=422)
    flash(
        gettext("You see %(field)s for %(minutes)s minutes. That you do is recorded.", field=field, minutes=MINUTES),
        "info",
    )
    return redirect(url_for("operations.show", operation_id=operation_id, _anchor="differences"), 303)


def _page(operation_id: str, typed: Typed, *, status: int = 200) -> ResponseReturnValue:
    asking = actor()
    with read() as session:
        operation = find(session, actor=asking, operation_id=operation_id)
    if not reveals.may_reveal(operation, actor=asking):
        raise NotAllowedError(permission=Permission.REVEAL.value)
    masked = reveals.masks(operation, policies=policies())
    if not masked:
        raise NotFoundError(operation_id=operation_id)
    problems = typed.problems or {}
    page = render_template(
        "operations/reveal.html",
        operation=operation,
        fields=[(path, visible(path)) for path in masked],
        minutes=MINUTES,
        typed=typed,
        problems=problems,
        summary=[(name if name in FIELDS else "reveal", text) for name, text in problems.items()],
        form_key=uuid4().hex,
    )
    return page, status
