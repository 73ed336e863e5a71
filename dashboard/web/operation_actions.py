"""Preview of an action and the form that asks for it: what it will do, how risky that is, and on which evidence."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from dashboard.db import clock
from dashboard.domain.actions import ActionName
from dashboard.domain.errors import InvalidInputError, LostRaceError, NotAllowedError, NotFoundError, OperationsError
from dashboard.domain.permissions import Permission
from dashboard.domain.states import known
from dashboard.services import actions
from dashboard.services.actions import ActionForm, ActionRequest, Performed
from dashboard.services.offers import offers
from dashboard.web.context import actor, database, policies, read, requires
from dashboard.web.effects import effects, warning
from dashboard.web.labels import label
from dashboard.web.language import gettext
from dashboard.web.offers import impossible, possible, why_not
from dashboard.web.results import result
from dashboard.web.wording import by_field

blueprint = Blueprint("operation_actions", __name__, url_prefix="/operations")

FIELDS = ("reason_code", "amount", "note", "reference")
REVISION = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True)
class Typed:
    """What the form shows again: the person's words, what is wrong with them, and why the page came back.

    `revision` is the one they have looked at; None for the one this page shows.
    """

    reason_code: str = ""
    note: str = ""
    reference: str = ""
    amount: str = ""
    revision: int | None = None
    problems: Mapping[str, str] | None = None
    lost: LostRaceError | None = None
    came_back: bool = False


@blueprint.get("/<operation_id>/<action>")
@requires(Permission.BROWSE)
def preview(operation_id: str, action: str) -> ResponseReturnValue:
    """Show what the action would do; changes nothing."""
    return _page(_asked(operation_id, action), Typed())


@blueprint.post("/<operation_id>/<action>")
@requires(Permission.BROWSE)
def perform(operation_id: str, action: str) -> ResponseReturnValue:
    """Do it, once, and go back to the operation; or show the form again with everything that was typed."""
    asked, key = _asked(operation_id, action), request.form.get("idempotency_key")
    if key is None:
        return _page(asked, _typed(came_back=True), status=422)
    try:
        done = actions.perform(database(), asked, _form(key))
    except NotFoundError:
        raise
    except InvalidInputError as error:
        return _page(asked, _typed(revision=_revision(), problems=by_field(error)), status=422)
    except LostRaceError as error:
        return _page(asked, _typed(lost=error), status=409)
    except OperationsError as error:
        return _refused(asked, error, _typed())
    return _to_operation(done)


def _asked(operation_id: str, action: str) -> ActionRequest:
    name = known(ActionName, action)
    if name is None:
        abort(404)
    return ActionRequest(actor(), operation_id, name, policies())


def _form(key: str) -> ActionForm:
    return ActionForm(
        idempotency_key=key,
        revision=_revision(),
        reason_code=request.form.get("reason_code"),
        note=request.form.get("note"),
        reference=request.form.get("reference"),
        amount=request.form.get("amount"),
    )


def _revision() -> int | None:
    sent = request.form.get("revision", "")
    return int(sent) if REVISION.fullmatch(sent) else None


def _typed(
    *,
    revision: int | None = None,
    problems: Mapping[str, str] | None = None,
    lost: LostRaceError | None = None,
    came_back: bool = False,
) -> Typed:
    return Typed(
        reason_code=request.form.get("reason_code", ""),
        note=request.form.get("note", ""),
        reference=request.form.get("reference", ""),
        amount=request.form.get("amount", ""),
        revision=revision,
        problems=problems,
        lost=lost,
        came_back=came_back,
    )


def _page(asked: ActionRequest, typed: Typed, *, status: int = 200) -> ResponseReturnValue:
    try:
        with read() as session:
            shown = actions.preview(session, asked)
    except NotAllowedError as error:
        return _refused(asked, error, typed)
    if shown.refusal:
        return _refused(asked, shown.refusal, typed)
    page = render_template(
        "operations/preview.html",
        preview=shown,
        operation=shown.operation,
        action=asked.action.value,
        effects=effects(shown, policies=policies()),
        warning=warning(shown),
        freshness=policies().freshness_of(shown.operation.type),
        expires=policies().of(shown.operation.type).approvals.expires,
        partial=shown.compensation is not None and policies().of(shown.operation.type).partial,
        reasons=[(code, label("reason_code", code)) for code in shown.reasons],
        typed=typed,
        problems=typed.problems or {},
        summary=[(name if name in FIELDS else "evidence", text) for name, text in (typed.problems or {}).items()],
        form_key=uuid4().hex,
        revision=shown.operation.revision if typed.revision is None else typed.revision,
    )
    return page, status


def _refused(asked: ActionRequest, refusal: OperationsError, typed: Typed) -> ResponseReturnValue:
    """Explain why not, give back what was typed, and offer what is possible instead."""
    with read() as session:
        operation = actions.find(session, actor=asked.actor, operation_id=asked.operation_id)
        offered = offers(session, operation, actor=asked.actor, policies=policies(), now=clock(session))
    page = render_template(
        "operations/refused.html",
        operation=operation,
        action=asked.action.value,
        why=why_not(refusal),
        claimed=refusal.code == "claimed",
        typed=typed,
        possible=possible(offered),
        impossible=impossible(offered),
    )
    return page, 403 if isinstance(refusal, NotAllowedError) else 409


def _to_operation(done: Performed) -> ResponseReturnValue:
    if done.repeated:
        flash(gettext("This form had been sent before, and was done then. Nothing was done twice."), "info")
    else:
        flash(result(done, reason_code=request.form.get("reason_code")), "ok")
    return redirect(url_for("operations.show", operation_id=done.operation_id), 303)
