"""The actions a page offers, with a line on what each does, and those it does not, with the reason."""

from collections.abc import Iterable
from typing import NamedTuple

from flask_babel import LazyString

from dashboard.domain.actions import ActionName
from dashboard.domain.errors import NotAllowedError, OperationsError, TransitionError
from dashboard.domain.permissions import Permission
from dashboard.domain.states import TERMINAL, State
from dashboard.services.offers import Offer
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext
from dashboard.web.wording import in_words

DOES: dict[ActionName, LazyString] = {
    ActionName.REQUEUE: lazy_gettext("Send it again: only where the effect does not exist."),
    ActionName.COMPENSATE: lazy_gettext("Undo its effect by a second operation."),
    ActionName.CLOSE: lazy_gettext("End it without being done."),
    ActionName.CONFIRM: lazy_gettext("Count it as done: you have seen the effect."),
    ActionName.ESCALATE: lazy_gettext("Hand it to the people who decide."),
    ActionName.REOPEN: lazy_gettext("Put it in review again although it had ended."),
}


class Choice(NamedTuple):
    """An action with its name and what it does."""

    action: str
    name: str
    sentence: str


def possible(offered: Iterable[Offer]) -> list[Choice]:
    """Give the actions that are open to the person."""
    return [
        Choice(offer.action.value, label("action", offer.action.value), str(DOES[offer.action]))
        for offer in offered
        if offer.refusal is None
    ]


def impossible(offered: Iterable[Offer]) -> list[tuple[str, str]]:
    """Give the names of the actions that are not, with why; those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for offer in offered:
        if offer.refusal:
            reasons.setdefault(why_not(offer.refusal), []).append(label("action", offer.action.value))
    return [(", ".join(names), sentence) for sentence, names in reasons.items()]


def why_not(refusal: OperationsError) -> str:
    """Say why an action is not possible, so that the person knows who or what could change that."""
    if isinstance(refusal, NotAllowedError):
        if refusal.details.get("permission") == Permission.REOPEN.value:
            return gettext("Managers decide this; your role does not.")
        return gettext("Operators decide this; your role does not.")
    if isinstance(refusal, TransitionError):
        return _wrong_state(refusal)
    return in_words(refusal)


def _wrong_state(refusal: TransitionError) -> str:
    state = label("state", refusal.source)
    if refusal.trigger == ActionName.REOPEN:
        return gettext("It has not ended: its state is “%(state)s”.", state=state)
    if refusal.source in TERMINAL:
        return gettext("It has ended: its state is “%(state)s”.", state=state)
    if refusal.source == State.MANUAL_REVIEW:
        return gettext("It is with the people who decide already.")
    if refusal.source in {State.RETRY_SCHEDULED, State.AWAITING_CONFIRMATION}:
        return gettext("Its state is “%(state)s”: escalate it first.", state=state)
    return gettext("Not possible while its state is “%(state)s”.", state=state)
