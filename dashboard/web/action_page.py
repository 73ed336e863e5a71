"""The page of one action: what was asked for on which evidence, who must agree, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from flask import render_template
from flask_babel import LazyString
from sqlalchemy.orm import Session

from dashboard.domain.actions import ActionName
from dashboard.domain.approval import ActionState, Vote
from dashboard.domain.errors import OperationsError
from dashboard.domain.masking import hide_text
from dashboard.domain.permissions import Permission, scopes
from dashboard.domain.risk import RiskAssessment
from dashboard.models import Approval
from dashboard.queries import actions as queries
from dashboard.queries.bulk import plan_of
from dashboard.services import actions, approvals
from dashboard.services.actions import ActionRequest
from dashboard.web.context import actor, policies, read
from dashboard.web.differences import differences
from dashboard.web.effects import effects
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext

STATES: dict[str, LazyString] = {
    "proposed": lazy_gettext("Proposed; nothing is done until it is approved."),
    "rejected": lazy_gettext("Rejected; nothing was done."),
    "withdrawn": lazy_gettext("Withdrawn; nothing was done."),
    "expired": lazy_gettext("Expired; nothing was done."),
    "void": lazy_gettext("Void; nothing was done."),
}
SENTENCES: dict[str | None, LazyString] = {
    "to_verify": lazy_gettext("Asked; the effect is still to be verified."),
    "verified": lazy_gettext("Verified: a later check found the effect."),
    "no_effect": lazy_gettext("A later check did not find the effect as it should be."),
    "duplicated": lazy_gettext("A later check found the effect twice."),
    None: lazy_gettext("Done here; nothing was asked of the destination."),
}


@dataclass(frozen=True)
class TypedVote:
    """What the form shows again: the person's words, and why the page came back."""

    note: str = ""
    problem: str = ""
    refused: str = ""
    came_back: bool = False


@dataclass(frozen=True)
class Deciding:
    """What the person can do about a proposal: decide, or take it back; `effects` is what approving would do.

    `risk` is as it is now; the action keeps how it was when it was asked for.
    """

    decides: bool
    withdraws: bool
    effects: Sequence[Any]
    refusal: OperationsError | None
    risk: RiskAssessment | None


def action_page(number: int, typed: TypedVote) -> str:
    """Show one action, with the form of whoever may decide about it."""
    asking = actor()
    with read() as session:
        found = queries.get_action(session, number, scopes=scopes(asking.grants, Permission.BROWSE))
        votes = queries.votes_on(session, number)
        deciding = _deciding(session, found, votes)
        plan_id = plan_of(session, number, scopes=scopes(asking.grants, Permission.BROWSE))
    snapshot = found.Action.snapshot
    sides = (snapshot.get("expected"), snapshot.get("actual"), found.Operation.expected)
    hidden = policies().of(found.Action.type).hiding(*sides)
    return render_template(
        "actions/show.html",
        found=found,
        action=found.Action,
        state=found.state,
        because=found.Action.ended_because or _lapsed(found),
        operation=found.Operation,
        note=hide_text(found.Action.note, hidden),
        reference=hide_text(found.Action.reference or "", hidden),
        votes=[(vote, hide_text(vote.note or "", hidden)) for vote in votes],
        agreed=len([vote for vote in votes if vote.vote == Vote.APPROVE]),
        deciding=deciding,
        plan_id=plan_id,
        typed=typed,
        form_key=uuid4().hex,
        snapshot=snapshot,
        verdict_at=datetime.fromisoformat(snapshot["verdict_at"]) if snapshot.get("verdict_at") else None,
        compared=differences(snapshot.get("expected"), snapshot.get("actual"), hidden=hidden),
    )


def outcome_sentence(action: Any, state: str) -> str:
    """Say whether an action is verified; never that it is done where it was only asked for."""
    if state in STATES:
        return str(STATES[state])
    if action.action == ActionName.CLOSE and action.outcome == "no_effect":
        return gettext("A later check contradicts it: the effect exists.")
    return str(SENTENCES.get(action.outcome) or label("outcome", action.outcome))


def _deciding(session: Session, found: Any, votes: Sequence[Approval]) -> Deciding:
    stored, operation, me = found.Action, found.Operation, actor()
    if found.state != ActionState.PROPOSED or any(vote.voter == me.id for vote in votes):
        return Deciding(decides=False, withdraws=False, effects=(), refusal=None, risk=None)
    decides = approvals.obstacle(stored, operation, actor=me, vote=Vote.APPROVE) is None
    request = ActionRequest(me, operation.operation_id, ActionName(stored.action), policies())
    shown = actions.preview_proposal(session, request, stored) if decides else None
    return Deciding(
        decides=decides,
        withdraws=stored.requested_by == me.id,
        effects=effects(shown, policies=policies()) if shown else (),
        refusal=shown.refusal if shown else None,
        risk=shown.risk if shown else None,
    )


def _lapsed(found: Any) -> str | None:
    """Why a proposal that still stands in the table does not stand any more."""
    if found.Action.state != ActionState.PROPOSED or found.state == ActionState.PROPOSED:
        return None
    return "operation_changed" if found.state == ActionState.VOID else "time_over"
