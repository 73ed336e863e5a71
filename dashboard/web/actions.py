"""What people asked for, and whether it worked."""

from datetime import datetime
from typing import Any

from flask import Blueprint, render_template, request, url_for
from flask_babel import LazyString
from sqlalchemy.orm import Session

from dashboard.domain.actions import REASON_CODES, ActionName
from dashboard.domain.approval import Vote
from dashboard.domain.permissions import Actor, Permission, scopes
from dashboard.domain.text import visible
from dashboard.edge.filters import (
    ME,
    Args,
    parse_choice_set,
    parse_flag,
    parse_moment,
    parse_person,
    parse_position,
    parse_text_set,
)
from dashboard.queries import actions as queries
from dashboard.queries.actions import OUTCOMES, STATES, ActionFilter
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.queries.totals import Total
from dashboard.web import context
from dashboard.web.action_page import TypedVote, action_page, outcome_sentence
from dashboard.web.context import actor, read, requires
from dashboard.web.formatting import counted, person_zone
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext, ngettext
from dashboard.web.lists import chips, field, flag_word, moment_word, paged

blueprint = Blueprint("actions", __name__, url_prefix="/actions")


NAMES: dict[str, LazyString] = {
    "action": lazy_gettext("Action"),
    "state": lazy_gettext("State"),
    "outcome": lazy_gettext("Outcome"),
    "requested_by": lazy_gettext("Asked by"),
    "waiting": lazy_gettext("Waits for"),
    "type": lazy_gettext("Type"),
    "reason_code": lazy_gettext("Reason"),
    "since": lazy_gettext("Asked from"),
    "until": lazy_gettext("Asked before"),
    "voter": lazy_gettext("Decided by"),
    "vote": lazy_gettext("Vote"),
    "reviewed": lazy_gettext("Only what you review"),
}
KINDS = {name: name for name in ("action", "outcome", "reason_code", "vote")} | {"state": "action_state"}
EVERY_REASON = tuple(dict.fromkeys(code for codes in REASON_CODES.values() for code in codes))
LONGEST_NAME = 64
# What a figure of a report asks for, and the form of the filters does not.
KEPT = ("type", "reason_code", "since", "until", "voter", "vote", "reviewed")

blueprint.add_app_template_filter(outcome_sentence, "outcome_sentence")


@blueprint.get("")
@requires(Permission.BROWSE)
def index() -> str:
    """List the actions within the person's grants, newest first."""
    asking = actor()
    reviewed = parse_flag(request.args, "reviewed")
    visible = scopes(asking.grants, Permission.AUDIT_SCOPE if reviewed else Permission.BROWSE)
    filters, position = _filter(request.args, asking), parse_position(request.args)
    now = context.now()
    with read() as session:
        page = queries.list_actions(session, filters, scopes=visible, position=position, now=now)
        [total] = queries.count_actions(session, [filters], scopes=visible, now=now)
        looks_at = _looks(session, filters, asking, now=now)
    return render_template(
        "actions/index.html",
        **paged(page, position),
        total=ngettext("%(count)s action", "%(count)s actions", total.value, count=counted(total)),
        chips=chips(request.args, names=NAMES, word=_word),
        fields=[
            field(name, options, names=NAMES, word=_option)
            for name, options in (("action", ActionName), ("state", STATES), ("outcome", OUTCOMES))
        ],
        people=_people(request.args),
        waiting=_waiting(request.args),
        kept=[(name, value) for name in KEPT for value in request.args.getlist(name) if value],
        looks_at=looks_at,
    )


@blueprint.get(f"/<int(max={LARGEST_NUMBER}):number>")
@requires(Permission.BROWSE)
def show(number: int) -> str:
    """Show one action: the evidence it rests on, and what was known when it was decided."""
    return action_page(number, TypedVote())


def _filter(args: Args, asking: Actor) -> ActionFilter:
    waiting = parse_choice_set(args, "waiting", (ME,))
    return ActionFilter(
        actions=parse_choice_set(args, "action", ActionName),
        states=parse_choice_set(args, "state", STATES),
        outcomes=parse_choice_set(args, "outcome", OUTCOMES),
        requested_by=parse_person(args, "requested_by", me=asking.id),
        waiting_for=asking.bare if waiting else None,
        types=parse_text_set(args, "type", maximum=LONGEST_NAME),
        reasons=parse_choice_set(args, "reason_code", EVERY_REASON),
        since=parse_moment(args, "since", zone=person_zone()),
        until=parse_moment(args, "until", zone=person_zone()),
        voter=parse_person(args, "voter", me=asking.id),
        votes=parse_choice_set(args, "vote", Vote),
    )


def _waiting(args: Args) -> str:
    """Whom the listed actions wait for, kept by the form of the filters."""
    return ME if args.get("waiting") == ME else ""


def _looks(
    session: Session, filters: ActionFilter, asking: Actor, *, now: datetime
) -> list[tuple[str, str, Total, bool]]:
    """The looks a day begins with: what waits for oneself, what waits for anybody, what is not proven yet."""
    visible = scopes(asking.grants, Permission.BROWSE)
    named: tuple[tuple[str, dict[str, Any], ActionFilter], ...] = (
        (gettext("Wait for you"), {"waiting": ME}, ActionFilter(waiting_for=asking.bare)),
        (gettext("Wait for approval"), {"state": "proposed"}, ActionFilter(states=frozenset({"proposed"}))),
        (gettext("To be verified"), {"outcome": "to_verify"}, ActionFilter(outcomes=frozenset({"to_verify"}))),
    )
    totals = queries.count_actions(session, [look for _, _, look in named], scopes=visible, now=now)
    return [
        (url_for("actions.index", **query), name, total, look == filters)
        for (name, query, look), total in zip(named, totals, strict=True)
    ]


def _people(args: Args) -> list[tuple[str, str]]:
    """Anybody, oneself, and whoever the address names."""
    who = args.get("requested_by", "").strip()
    people = [("", gettext("Anybody")), (ME, gettext("Me"))]
    return people if who in {"", ME} else [*people, (who, who)]


def _option(name: str, value: str) -> str:
    return label(KINDS[name], value)


def _word(name: str, value: str) -> str | None:
    if name in {"requested_by", "waiting", "voter"}:
        return gettext("me") if value == ME else value
    if name in {"since", "until"}:
        return moment_word(name)
    if name == "reviewed":
        return flag_word(value)
    return label(KINDS[name], value) if name in KINDS else visible(value)
