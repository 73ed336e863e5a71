"""Actions a person asks for, and the evidence each of them needs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.states import TRANSITIONS, ActorKind, ClosedReason, State, Trigger
from dashboard.domain.text import TextError, check_text, without_invisible

MIN_NOTE = 15
MAX_NOTE = 2000
MAX_REFERENCE = 500
# The reason of who wants to send again without proof; a manager must agree, whatever policy says.
OVERRIDE = "override"
# What names a form, so that sending it twice does it once.
FORM_KEY = re.compile(r"[!-~]{1,128}")


class ActionName(StrEnum):
    """The repairs and decisions of people, in the order in which screens offer them."""

    REQUEUE = "requeue"
    COMPENSATE = "compensate"
    CLOSE = "close"
    CONFIRM = "confirm"
    ESCALATE = "escalate"
    REOPEN = "reopen"


REASON_CODES: Mapping[ActionName, tuple[str, ...]] = MappingProxyType(
    {
        ActionName.REQUEUE: ("effect_absent", "transient_fault", "destination_fixed", "customer_request", OVERRIDE),
        ActionName.COMPENSATE: (
            "charged_twice",
            "order_cancelled",
            "wrong_amount",
            "customer_request",
            "other",
            OVERRIDE,
        ),
        ActionName.CLOSE: tuple(reason.value for reason in ClosedReason),
        ActionName.CONFIRM: (
            "seen_at_destination",
            "confirmed_by_provider",
            "confirmed_by_customer",
            "receipt_received",
        ),
        ActionName.ESCALATE: ("customer_waiting", "high_value", "needs_decision", "deadline_near"),
        ActionName.REOPEN: ("closed_by_mistake", "new_evidence", "effect_missing", "effect_duplicated"),
    }
)


@dataclass(frozen=True)
class Evidence:
    """Why a person asks: a known reason, a note in their words, and perhaps a link or number."""

    reason_code: str
    note: str
    reference: str | None


def available_actions(state: State) -> tuple[ActionName, ...]:
    """Return the actions that the transition table lets a person ask for in this state."""
    triggers: set[Trigger] = set()
    for row in TRANSITIONS:
        if row.source is state and ActorKind.USER in row.actors:
            triggers |= row.triggers
    return tuple(name for name in ActionName if Trigger(name) in triggers)


def check_evidence(action: ActionName, *, reason_code: str | None, note: str | None, reference: str | None) -> Evidence:
    """Return the evidence trimmed, or raise InvalidInputError with one Problem for each bad field."""
    reason_code = (reason_code or "").strip()
    problem = _reason_problem(action, reason_code)
    try:
        note, reference = check_words(note=note, reference=reference)
    except InvalidInputError as error:
        raise InvalidInputError((problem, *error.problems) if problem else error.problems) from error
    if problem:
        raise InvalidInputError((problem,))
    return Evidence(reason_code, note, reference)


def check_words(*, note: str | None, reference: str | None) -> tuple[str, str | None]:
    """Return note and reference trimmed, or raise InvalidInputError with one Problem for each bad field."""
    note, reference = ((text or "").strip() for text in (note, reference))
    found = (_checked("note", note, _note_problem), _checked("reference", reference, _reference_problem))
    problems = tuple(problem for problem in found if problem)
    if problems:
        raise InvalidInputError(problems)
    return note, reference or None


def check_remark(note: str | None) -> str | None:
    """Return a note that need not say anything, trimmed; None for an empty one. Raises InvalidInputError."""
    text = (note or "").strip()
    try:
        check_text(text)
    except TextError as error:
        raise InvalidInputError((Problem("note", "text_invalid", {"reason": error.code}),)) from error
    if len(text) > MAX_NOTE:
        raise InvalidInputError((Problem("note", "note_too_long", {"maximum": MAX_NOTE, "length": len(text)}),))
    return text or None


def _reason_problem(action: ActionName, reason_code: str) -> Problem | None:
    if not reason_code:
        return Problem("reason_code", "reason_missing")
    if reason_code not in REASON_CODES[action]:
        return Problem("reason_code", "reason_unknown", {"allowed": REASON_CODES[action]})
    return None


def _checked(field: str, value: str, rule: Callable[[str], Problem | None]) -> Problem | None:
    try:
        return rule(check_text(value))
    except TextError as error:
        return Problem(field, "text_invalid", {"reason": error.code})


def _note_problem(note: str) -> Problem | None:
    length = _said(note)
    if not length:
        return Problem("note", "note_missing", {"minimum": MIN_NOTE})
    if length < MIN_NOTE:
        return Problem("note", "note_too_short", {"minimum": MIN_NOTE, "length": length})
    if len(note) > MAX_NOTE:
        return Problem("note", "note_too_long", {"maximum": MAX_NOTE, "length": len(note)})
    return None


def _reference_problem(reference: str) -> Problem | None:
    if len(reference) <= MAX_REFERENCE:
        return None
    return Problem("reference", "reference_too_long", {"maximum": MAX_REFERENCE, "length": len(reference)})


def _said(note: str) -> int:
    """Count what a note says: blanks collapse, padding of punctuation counts once, one repeated sign is one."""
    seen = re.sub("[\ufe00-\ufe0f]", "", without_invisible(note))
    text = re.sub(r"([^\w\s])\1{3,}", r"\1", " ".join(seen.split()))
    return len(text) if len(set(text) - {" "}) > 1 else min(len(text), 1)
