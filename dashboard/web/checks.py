"""Check now: ask the destination about one operation because a person wants to know."""

from flask import Blueprint, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue

from dashboard.domain.actions import ActionName
from dashboard.domain.permissions import Permission, allows
from dashboard.domain.states import State, known
from dashboard.models import Operation
from dashboard.services import reconciliation
from dashboard.web.context import actor, database, policies, requires
from dashboard.web.findings import done, said
from dashboard.web.language import gettext

blueprint = Blueprint("checks", __name__, url_prefix="/operations")

TONES = {"correct": "ok", "not_applicable": "info", "absent": "warn", "ambiguous": "warn", "divergent": "danger"}


@blueprint.app_template_test("checkable")
def checkable(operation: Operation) -> bool:
    """Tell whether the person may ask about this operation, and there is something to ask."""
    may = allows(actor().grants, Permission.CHECK, tenant=operation.tenant, type=operation.type)
    asked_later = operation.state == State.PROCESSING
    return may and not asked_later and policies().of(operation.type).probe is not None


@blueprint.get("/<operation_id>/check")
@requires(Permission.BROWSE)
def back(operation_id: str) -> ResponseReturnValue:
    """Go to the operation: this is the address the browser is left at when a check was refused."""
    return redirect(url_for("operations.show", operation_id=operation_id))


@blueprint.post("/<operation_id>/check")
@requires(Permission.CHECK)
def check(operation_id: str) -> ResponseReturnValue:
    """Ask now, do what policy allows, and say what came of it."""
    found = reconciliation.look(database(), policies=policies(), actor=actor(), operation_id=operation_id)
    told = f"{said(found)} {done(found)}"
    if not found.applied:
        told = gettext("%(told)s This type is only observed: nothing was changed.", told=told)
    flash(told, TONES.get(found.verdict, "info"))
    return redirect(_then(operation_id), 303)


def _then(operation_id: str) -> str:
    """Where the person was: the preview of an action, the action that waits for a vote, or the operation."""
    if action := known(ActionName, request.form.get("then")):
        return url_for("operation_actions.preview", operation_id=operation_id, action=action.value)
    if number := request.form.get("then_action", type=int):
        return url_for("actions.show", number=number)
    return url_for("operations.show", operation_id=operation_id)
