"""Redriving and discarding dead letters: a page that says what will happen, and the form that does it once."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from dashboard.domain.errors import InvalidInputError, LostRaceError, NotAllowedError
from dashboard.domain.messages import Decision, MessageState
from dashboard.domain.permissions import Permission, allows
from dashboard.domain.states import known
from dashboard.queries import outbox as queries
from dashboard.services import outbox
from dashboard.services.outbox import DecisionForm
from dashboard.web.context import actor, database, read, requires
from dashboard.web.errors import error_page
from dashboard.web.language import gettext, ngettext
from dashboard.web.wording import by_field, in_words

blueprint = Blueprint("outbox_decisions", __name__, url_prefix="/outbox")

FIELDS = ("note", "reference")


@dataclass(frozen=True)
class Typed:
    """What the form shows again, what is wrong with it, and whether it only came back."""

    note: str = ""
    reference: str = ""
    problems: Mapping[str, str] | None = None
    came_back: bool = False


@blueprint.get("/<message_id>/<decision>")
@requires(Permission.BROWSE)
def confirm(message_id: str, decision: str) -> ResponseReturnValue:
    """Show what the decision would do; changes nothing."""
    return _page(message_id, _asked(decision), Typed())


@blueprint.post("/<message_id>/<decision>")
@requires(Permission.BROWSE)
def decide(message_id: str, decision: str) -> ResponseReturnValue:
    """Do it, once, and go back to the message; or show the form again with everything that was typed."""
    asked, key = _asked(decision), request.form.get("idempotency_key")
    if key is None:
        return _page(message_id, asked, _typed(came_back=True), status=422)
    form = DecisionForm(key, request.form.get("note"), request.form.get("reference"))
    try:
        done = outbox.decide(database(), actor=actor(), message_id=message_id, decision=asked, form=form)
    except InvalidInputError as error:
        return _page(message_id, asked, _typed(problems=by_field(error)), status=422)
    except LostRaceError as error:
        return error_page(409, text=in_words(error))
    flash(*_told(asked, done=done))
    return redirect(url_for("outbox.show", message_id=message_id), 303)


def _asked(decision: str) -> Decision:
    return known(Decision, decision) or abort(404)


def _typed(*, problems: Mapping[str, str] | None = None, came_back: bool = False) -> Typed:
    return Typed(request.form.get("note", ""), request.form.get("reference", ""), problems, came_back)


def _page(message_id: str, decision: Decision, typed: Typed, *, status: int = 200) -> ResponseReturnValue:
    asking = actor()
    with read() as session:
        message = outbox.find(session, actor=asking, message_id=message_id)
        behind = queries.behind(session, message)
    if not allows(asking.grants, Permission.EXECUTE, tenant=message.tenant, type=message.type):
        raise NotAllowedError(permission=Permission.EXECUTE.value)
    if message.state != MessageState.DEAD:
        raise LostRaceError("letter_not_dead", message_id=message_id, state=message.state)
    problems = typed.problems or {}
    page = render_template(
        "outbox/decide.html",
        message=message,
        decision=decision.value,
        effects=_effects(decision, behind=behind),
        typed=typed,
        problems=problems,
        summary=[(name if name in FIELDS else "evidence", text) for name, text in problems.items()],
        form_key=uuid4().hex,
    )
    return page, status


def _effects(decision: Decision, *, behind: int) -> list[str]:
    """Say one by one what the decision will do."""
    if decision is Decision.REDRIVE:
        return [
            gettext("It is published again, under the same message id: whoever keeps ids does not act on it twice."),
            gettext("Its claims count from none; if it fails as before, it will be dead again."),
            ngettext(
                "%(num)s message of its key follows once it was taken.",
                "%(num)s messages of its key follow once it was taken.",
                behind,
            ),
        ]
    return [
        gettext("It is never published. This cannot be undone."),
        ngettext(
            "%(num)s message of its key goes out without it.", "%(num)s messages of its key go out without it.", behind
        ),
        gettext("The operation that it announces does not change."),
    ]


def _told(decision: Decision, *, done: bool) -> tuple[str, str]:
    if not done:
        return gettext("This form had been sent before, and was done then. Nothing was done twice."), "info"
    if decision is Decision.REDRIVE:
        return gettext("It waits for the relay again."), "ok"
    return gettext("It was discarded; its key goes on."), "ok"
