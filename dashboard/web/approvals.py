"""Deciding about a proposed action: approve, reject or withdraw it, on its page."""

from flask import Blueprint, abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue

from dashboard.domain.approval import Vote
from dashboard.domain.errors import InvalidInputError, NotFoundError, OperationsError
from dashboard.domain.permissions import Permission
from dashboard.domain.states import known
from dashboard.edge.statuses import status_of
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.services import approvals
from dashboard.services.approvals import Decided
from dashboard.web.action_page import TypedVote, action_page
from dashboard.web.context import actor, database, policies, requires
from dashboard.web.language import gettext
from dashboard.web.results import result
from dashboard.web.wording import by_field, in_words

blueprint = Blueprint("approvals", __name__, url_prefix="/actions")


@blueprint.get(f"/<int(max={LARGEST_NUMBER}):number>/<vote>")
@requires(Permission.BROWSE)
def back(number: int, vote: str) -> ResponseReturnValue:
    """Go to the action: this is the address the browser is left at when a vote was refused."""
    if known(Vote, vote) is None:
        abort(404)
    return redirect(url_for("actions.show", number=number))


@blueprint.post(f"/<int(max={LARGEST_NUMBER}):number>/<vote>")
@requires(Permission.BROWSE)
def decide(number: int, vote: str) -> ResponseReturnValue:
    """Give the vote, once; a refusal shows the page again, with the reason and everything that was typed."""
    decision = known(Vote, vote) or abort(404)
    note, key = request.form.get("note", ""), request.form.get("idempotency_key")
    if key is None:
        return action_page(number, TypedVote(note, came_back=True)), 422
    try:
        decided = approvals.decide(
            database(),
            actor=actor(),
            action_id=number,
            decision=decision,
            note=note,
            idempotency_key=key,
            policies=policies(),
        )
    except NotFoundError:
        raise
    except InvalidInputError as error:
        return action_page(number, TypedVote(note, problem=" ".join(by_field(error).values()))), 422
    except OperationsError as error:
        return action_page(number, TypedVote(note, refused=in_words(error))), status_of(error)
    flash(_told(decided), "info" if decided.repeated else "ok")
    return redirect(url_for("actions.show", number=number), 303)


def _told(decided: Decided) -> str:
    if decided.repeated:
        return gettext("You had decided so before. Nothing was done twice.")
    if decided.executed:
        return gettext("Approved. %(done)s", done=result(decided.executed, reason_code=None))
    if decided.vote is Vote.APPROVE:
        return str(
            gettext(
                "Your approval counts: %(agreed)s of %(needed)s. Nothing is done until the rest agree.",
                agreed=decided.approvals,
                needed=decided.needed,
            )
        )
    if decided.vote is Vote.REJECT:
        return gettext("Rejected. Nothing was done.")
    return gettext("Withdrawn. Nothing was done.")
