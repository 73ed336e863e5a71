"""What people asked for, and whether it worked."""

from datetime import datetime
from typing import Any

from flask import Blueprint, render_template, request
from flask_babel import LazyString, gettext, lazy_gettext, ngettext

from dashboard.domain.actions import ActionName
from dashboard.domain.permissions import Permission, scopes
from dashboard.edge.filters import ME, Args, parse_choice_set, parse_person, parse_position
from dashboard.queries import actions as queries
from dashboard.queries.actions import OUTCOMES, STATES, ActionFilter
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.web.context import actor, policies, read, requires
from dashboard.web.differences import differences
from dashboard.web.formatting import counted
from dashboard.web.labels import label
from dashboard.web.lists import chips, field, paged

blueprint = Blueprint("actions", __name__, url_prefix="/actions")


NAMES: dict[str, LazyString] = {
    "action": lazy_gettext("Action"),
    "state": lazy_gettext("State"),
    "outcome": lazy_gettext("Outcome"),
    "requested_by": lazy_gettext("Asked by"),
}
KINDS = {"action": "action", "state": "action_state", "outcome": "outcome"}
SENTENCES: dict[str | None, LazyString] = {
    "to_verify": lazy_gettext("Asked; the effect is still to be verified."),
    "verified": lazy_gettext("Verified: a later check found the effect."),
    "no_effect": lazy_gettext("A later check found no effect."),
    "duplicated": lazy_gettext("A later check found the effect twice."),
    None: lazy_gettext("Done here; nothing was asked of the destination."),
}


@blueprint.get("")
@requires(Permission.BROWSE)
def index() -> str:
    """List the actions within the person's grants, newest first."""
    asking = actor()
    visible = scopes(asking.grants, Permission.BROWSE)
    filters, position = _filter(request.args, me=asking.id), parse_position(request.args)
    with read() as session:
        page = queries.list_actions(session, filters, scopes=visible, position=position)
        total = queries.count_actions(session, filters, scopes=visible)
    return render_template(
        "actions/index.html",
        **paged(page, position),
        total=ngettext("%(count)s action", "%(count)s actions", total.value, count=counted(total)),
        chips=chips(request.args, names=NAMES, word=_word),
        fields=[
            field(name, options, names=NAMES, word=_word)
            for name, options in (("action", ActionName), ("state", STATES), ("outcome", OUTCOMES))
        ],
        people=_people(request.args),
    )


@blueprint.get(f"/<int(max={LARGEST_NUMBER}):number>")
@requires(Permission.BROWSE)
def show(number: int) -> str:
    """Show one action: the evidence it rests on, and what was known when it was decided."""
    with read() as session:
        found = queries.get_action(session, number, scopes=scopes(actor().grants, Permission.BROWSE))
    snapshot = found.Action.snapshot
    hidden = policies().of(found.Action.type).hiding(snapshot.get("expected"), snapshot.get("actual"))
    return render_template(
        "actions/show.html",
        found=found,
        action=found.Action,
        operation=found.Operation,
        snapshot=snapshot,
        verdict_at=datetime.fromisoformat(snapshot["verdict_at"]) if snapshot.get("verdict_at") else None,
        compared=differences(snapshot.get("expected"), snapshot.get("actual"), hidden=hidden),
    )


@blueprint.app_template_filter("outcome_sentence")
def outcome_sentence(action: Any) -> str:
    """Say whether an action is verified; never that it is done where it was only asked for."""
    if action.state == "proposed":
        return str(gettext("Proposed; nothing is done until it is approved."))
    return str(SENTENCES.get(action.outcome) or label("outcome", action.outcome))


def _filter(args: Args, *, me: str) -> ActionFilter:
    return ActionFilter(
        actions=parse_choice_set(args, "action", ActionName),
        states=parse_choice_set(args, "state", STATES),
        outcomes=parse_choice_set(args, "outcome", OUTCOMES),
        requested_by=parse_person(args, "requested_by", me=me),
    )


def _people(args: Args) -> list[tuple[str, str]]:
    """Anybody, oneself, and whoever the address names."""
    who = args.get("requested_by", "").strip()
    people = [("", str(gettext("Anybody"))), (ME, str(gettext("Me")))]
    return people if who in {"", ME} else [*people, (who, who)]


def _word(name: str, value: str) -> str:
    if name == "requested_by":
        return str(gettext("me")) if value == ME else value
    return label(KINDS[name], value)
