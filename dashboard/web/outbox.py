"""The outbox: what waits to be published, dead letters with what they hold up, and sinks that are away."""

import json
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString
from sqlalchemy.orm import Session

from dashboard.domain.errors import NotFoundError
from dashboard.domain.masking import mask
from dashboard.domain.messages import MessageState
from dashboard.domain.permissions import Permission, allows, scopes
from dashboard.domain.redaction import redact
from dashboard.domain.text import visible
from dashboard.edge.filters import (
    Args,
    parse_choice,
    parse_flag,
    parse_position,
    parse_text,
)
from dashboard.models import OutboxMessage
from dashboard.queries import outbox as queries
from dashboard.queries.outbox import Figures, MessageFilter
from dashboard.queries.totals import Total
from dashboard.web import context
from dashboard.web.context import actor, policies, read, requires
from dashboard.web.formatting import counted
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext, ngettext
from dashboard.web.lists import Look, chips, field, paged

blueprint = Blueprint("outbox", __name__, url_prefix="/outbox")

LONGEST_SINK = 64
LONGEST_KEY = 255
SHOWN_PAYLOAD = 20_000
ORDERS = ("oldest", "newest")
NAMES: dict[str, LazyString] = {"sink": lazy_gettext("Sink"), "q": lazy_gettext("Key")}


@blueprint.get("")
@requires(Permission.BROWSE)
def index() -> ResponseReturnValue:
    """List messages in one state; the id of a message leads to it."""
    reach = scopes(actor().grants, Permission.BROWSE)
    filters, position = _filter(request.args), parse_position(request.args)
    oldest_first = _oldest_first(request.args, filters)
    with read() as session:
        if filters.key and _exists(session, filters.key):
            return redirect(url_for("outbox.show", message_id=filters.key))
        figures = queries.figures(session, scopes=reach)
        page = queries.list_messages(session, filters, scopes=reach, position=position, oldest_first=oldest_first)
        total = queries.count_messages(session, filters, scopes=reach)
        away = queries.away_sinks(session)
        waiting = queries.waiting_sinks(session, scopes=reach)
        now = context.now()
    known = policies().sinks
    return render_template(
        "outbox/index.html",
        filters=filters,
        figures=figures,
        oldest_age=now - figures.oldest_at if figures.oldest_at else None,
        **paged(page, position),
        total=ngettext("%(count)s message", "%(count)s messages", total.value, count=counted(total)),
        looks_at=_looks(figures, filters),
        oldest_first=oldest_first,
        chips=chips(request.args, names=NAMES, word=_word),
        sinks=field("sink", sorted({*known, *waiting}), names=NAMES, word=_word),
        away=away,
        unserved=[name for name in waiting if name not in known],
        now=now,
    )


@blueprint.get("/<message_id>")
@requires(Permission.BROWSE)
def show(message_id: str) -> str:
    """Show one message, where it stands in its key, and what people decided about it."""
    asking = actor()
    with read() as session:
        found = queries.get_message(session, message_id, scopes=scopes(asking.grants, Permission.BROWSE))
        message: OutboxMessage = found.OutboxMessage
        ahead = queries.ahead_of(session, message)
        behind = queries.behind(session, message)
        decisions = queries.decisions(session, message)
        now = context.now()
    may_decide = allows(asking.grants, Permission.EXECUTE, tenant=message.tenant, type=message.type)
    return render_template(
        "outbox/show.html",
        message=message,
        operation_id=found.operation_id,
        ahead=ahead,
        behind=behind,
        decisions=decisions,
        sentence=sentence_of(message, ahead=bool(ahead), behind=behind, now=now),
        payload=payload_of(message),
        may_decide=may_decide and message.state == MessageState.DEAD,
        now=now,
    )


def sentence_of(message: OutboxMessage, *, ahead: bool, behind: int, now: Any) -> str:
    """Say in one sentence where the message stands."""
    if message.state == MessageState.PUBLISHED:
        return gettext("It was published.")
    if message.state == MessageState.DISCARDED:
        return gettext("Somebody gave it up: it was never published, and its key goes on without it.")
    if message.state == MessageState.DEAD:
        blocked = ngettext("%(num)s message waits behind it.", "%(num)s messages wait behind it.", behind)
        return gettext("It could not be published and blocks its key: %(blocked)s", blocked=blocked)
    if ahead:
        return gettext("It waits for the messages of its key that go first.")
    if message.lease_until and message.lease_until > now:
        return gettext("A relay is publishing it.")
    return gettext("It waits for the relay.")


def payload_of(message: OutboxMessage) -> dict[str, Any]:
    """The payload as people read it: secrets taken out, hostile signs made visible, long ones cut."""
    hidden = policies().of(message.type).hiding()
    try:
        payload = mask(redact(json.loads(message.payload), paths=hidden.redact), paths=hidden.mask)
        text = json.dumps(payload, ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return {"text": None, "cut": False}
    return {"text": visible(text[:SHOWN_PAYLOAD]), "cut": len(text) > SHOWN_PAYLOAD}


def _exists(session: Session, message_id: str) -> bool:
    try:
        queries.get_message(session, message_id, scopes=scopes(actor().grants, Permission.BROWSE))
    except NotFoundError:
        return False
    return True


def _filter(args: Args) -> MessageFilter:
    held_up = parse_flag(args, "held_up")
    state = parse_choice(args, "state", MessageState) or MessageState.PENDING.value
    return MessageFilter(
        state=state,
        held_up=held_up and state == MessageState.PENDING,
        sink=parse_text(args, "sink", maximum=LONGEST_SINK),
        key=parse_text(args, "q", maximum=LONGEST_KEY),
    )


def _oldest_first(args: Args, filters: MessageFilter) -> bool:
    chosen = parse_choice(args, "sort", ORDERS)
    return chosen == "oldest" if chosen else filters.state in {MessageState.PENDING, MessageState.DEAD}


def _looks(figures: Figures, filters: MessageFilter) -> list[Look]:
    counts = {MessageState.PENDING: figures.pending, MessageState.DEAD: figures.dead}
    found = [
        Look(
            url_for("outbox.index", state=state.value),
            label("message_state", state),
            Total(counts[state], capped=False) if state in counts else None,
            filters == MessageFilter(state.value),
        )
        for state in (MessageState.PENDING, MessageState.DEAD, MessageState.PUBLISHED, MessageState.DISCARDED)
    ]
    held_up = url_for("outbox.index", state="pending", held_up=1)
    size = Total(figures.held_up, capped=False)
    found.insert(1, Look(held_up, gettext("Held up"), size, filters == MessageFilter(held_up=True)))
    return found


def _word(_name: str, value: str) -> str:
    return visible(value)
