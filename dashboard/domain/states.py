"""The states of an operation and the one table of its transitions.

Every entry point (worker, reconciler, screen, API, command) asks this table before it changes a
state. A row says from where to where, what sets it off, who may do so, under which condition, and
what the change must carry into its event. `docs/states.md` shows the same table as a picture.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from dashboard.domain.errors import TransitionError


class State(StrEnum):
    """Where an operation stands."""

    PENDING = "pending"
    PROCESSING = "processing"
    RETRY_SCHEDULED = "retry_scheduled"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    MANUAL_REVIEW = "manual_review"
    CONFIRMED = "confirmed"
    COMPENSATED = "compensated"
    NOT_APPLICABLE = "not_applicable"


TERMINAL: frozenset[State] = frozenset({State.CONFIRMED, State.COMPENSATED, State.NOT_APPLICABLE})
OPEN: frozenset[State] = frozenset(State) - TERMINAL


class ActorKind(StrEnum):
    """What kind of actor caused a change."""

    WORKER = "worker"
    RECONCILER = "reconciler"
    USER = "user"
    API = "api"
    SYSTEM = "system"


class EventKind(StrEnum):
    """What an entry of an operation's history tells."""

    TRANSITION = "transition"
    ATTEMPT = "attempt"
    PROBE = "probe"
    NOTE = "note"
    CLAIM = "claim"
    ACTION = "action"
    APPROVAL = "approval"


class Cause(StrEnum):
    """Why an attempt failed."""

    NOT_SENT = "not_sent"
    THROTTLED = "throttled"
    REJECTED = "rejected"
    SENT_UNKNOWN = "sent_unknown"
    LOCAL_CONFLICT = "local_conflict"
    PERMANENT = "permanent"


class ClosedReason(StrEnum):
    """Why an operation was closed without its effect."""

    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    DUPLICATE = "duplicate"
    WRITTEN_OFF = "written_off"
    TEST_DATA = "test_data"


class Trigger(StrEnum):
    """What sets off a transition; the last six are the actions a person asks for."""

    CLAIM = "claim"
    WITHDRAW = "withdraw"
    CONFIRMATION = "confirmation"
    ANSWER_UNKNOWN = "answer_unknown"
    LEASE_LOST = "lease_lost"
    TRANSIENT = "transient"
    PERMANENT = "permanent"
    ATTEMPTS_USED_UP = "attempts_used_up"
    VERDICT_CORRECT = "verdict_correct"
    VERDICT_ABSENT = "verdict_absent"
    VERDICT_DIVERGENT = "verdict_divergent"
    VERDICT_AMBIGUOUS = "verdict_ambiguous"
    VERDICT_NOT_APPLICABLE = "verdict_not_applicable"
    PAST_DEADLINE = "past_deadline"
    SUPERSEDED = "superseded"
    REQUEUE = "requeue"
    COMPENSATE = "compensate"
    CLOSE = "close"
    CONFIRM = "confirm"
    ESCALATE = "escalate"
    REOPEN = "reopen"


@dataclass(frozen=True)
class Transition:
    """One allowed change of state; `carries` names the columns its event or row must fill."""

    source: State
    target: State
    triggers: frozenset[Trigger]
    actors: frozenset[ActorKind]
    condition: str
    carries: frozenset[str]


_Words = TypeVar("_Words", bound=StrEnum)
_Actors = frozenset[ActorKind]
_PERSON: _Actors = frozenset({ActorKind.USER, ActorKind.API})
_HOST: _Actors = frozenset({ActorKind.WORKER, ActorKind.API})
_WORKER: _Actors = frozenset({ActorKind.WORKER})
_RECONCILER: _Actors = frozenset({ActorKind.RECONCILER})
_MACHINE: _Actors = frozenset({ActorKind.WORKER, ActorKind.RECONCILER, ActorKind.SYSTEM})

_LEASE = "lease_token lease_until"
_CAUSE = "cause"
_PROOF = "evidence"
_RETRY = "cause next_attempt_at"
_VERDICT = "verdict evidence policy_hash"
_DECISION = "reason evidence"
_CLOSING = "reason evidence closed_reason"


def _row(source: State, target: State, *triggers: Trigger, by: _Actors, when: str, carries: str) -> Transition:
    return Transition(source, target, frozenset(triggers), by, when, frozenset(carries.split()))


# One row to a line reads as the table it is.
# fmt: off
TRANSITIONS: tuple[Transition, ...] = (
    _row(State.PENDING, State.PROCESSING, Trigger.CLAIM, by=_WORKER,
         when="the worker wins the claim", carries=_LEASE),
    _row(State.PENDING, State.NOT_APPLICABLE, Trigger.WITHDRAW, by=_HOST,
         when="the host takes it back before any attempt", carries="reason closed_reason"),
    _row(State.PENDING, State.NOT_APPLICABLE, Trigger.SUPERSEDED, by=_MACHINE,
         when="the entity already holds a newer confirmed version", carries="closed_reason"),
    _row(State.PENDING, State.NOT_APPLICABLE, Trigger.CLOSE, by=_PERSON,
         when="an operator closes it with evidence", carries=_CLOSING),

    _row(State.PROCESSING, State.CONFIRMED, Trigger.CONFIRMATION, by=_WORKER,
         when="the worker holds a valid confirmation", carries=_PROOF),
    _row(State.PROCESSING, State.AWAITING_CONFIRMATION, Trigger.ANSWER_UNKNOWN, by=_WORKER,
         when="the effect was sent and the answer is unknown or comes later", carries=_CAUSE),
    _row(State.PROCESSING, State.AWAITING_CONFIRMATION, Trigger.LEASE_LOST, by=_MACHINE,
         when="the lease ran out: the effect may have happened", carries="reason"),
    _row(State.PROCESSING, State.RETRY_SCHEDULED, Trigger.TRANSIENT, by=_WORKER,
         when="the cause is transient and proves that the effect did not start", carries=_RETRY),
    _row(State.PROCESSING, State.MANUAL_REVIEW, Trigger.PERMANENT, Trigger.ATTEMPTS_USED_UP, by=_WORKER,
         when="the cause is permanent, or the attempts are used up", carries=_CAUSE),

    _row(State.RETRY_SCHEDULED, State.PROCESSING, Trigger.CLAIM, by=_WORKER,
         when="the worker wins the claim and the next attempt is due", carries=_LEASE),
    _row(State.RETRY_SCHEDULED, State.CONFIRMED, Trigger.VERDICT_CORRECT, by=_RECONCILER,
         when="a late receipt or probe shows the effect: never send again what exists", carries=_VERDICT),
    _row(State.RETRY_SCHEDULED, State.MANUAL_REVIEW, Trigger.ESCALATE, by=_PERSON,
         when="a person asks for a decision instead of another attempt", carries=_DECISION),
    _row(State.RETRY_SCHEDULED, State.NOT_APPLICABLE, Trigger.SUPERSEDED, by=_MACHINE,
         when="the entity already holds a newer confirmed version", carries="closed_reason"),
    _row(State.RETRY_SCHEDULED, State.NOT_APPLICABLE, Trigger.CLOSE, by=_PERSON,
         when="an operator closes it with evidence", carries=_CLOSING),

    _row(State.AWAITING_CONFIRMATION, State.CONFIRMED, Trigger.VERDICT_CORRECT, by=_RECONCILER,
         when="the effect exists once and agrees", carries=_VERDICT),
    _row(State.AWAITING_CONFIRMATION, State.RETRY_SCHEDULED, Trigger.VERDICT_ABSENT, by=_RECONCILER,
         when="the effect is absent, the policy allows a retry and attempts are left",
         carries="verdict evidence policy_hash next_attempt_at"),
    _row(State.AWAITING_CONFIRMATION, State.MANUAL_REVIEW,
         Trigger.VERDICT_DIVERGENT, Trigger.VERDICT_AMBIGUOUS, Trigger.VERDICT_ABSENT, Trigger.VERDICT_CORRECT,
         Trigger.VERDICT_NOT_APPLICABLE, by=_RECONCILER,
         when="the verdict needs a person, or the policy asks for one", carries=_VERDICT),
    _row(State.AWAITING_CONFIRMATION, State.MANUAL_REVIEW, Trigger.ATTEMPTS_USED_UP, Trigger.PAST_DEADLINE,
         by=_MACHINE, when="no attempt is left, or the deadline passed", carries="reason"),
    _row(State.AWAITING_CONFIRMATION, State.MANUAL_REVIEW, Trigger.ESCALATE, by=_PERSON,
         when="a person asks for a decision", carries=_DECISION),
    _row(State.AWAITING_CONFIRMATION, State.NOT_APPLICABLE,
         Trigger.VERDICT_NOT_APPLICABLE, Trigger.SUPERSEDED, by=_RECONCILER,
         when="the entity was cancelled or superseded", carries="verdict evidence policy_hash closed_reason"),

    _row(State.MANUAL_REVIEW, State.RETRY_SCHEDULED, Trigger.REQUEUE, by=_PERSON,
         when="an operator asks for another attempt with evidence", carries="reason evidence next_attempt_at"),
    _row(State.MANUAL_REVIEW, State.COMPENSATED, Trigger.COMPENSATE, by=_PERSON | _MACHINE,
         when="the compensation that a person asked for is confirmed", carries=_DECISION),
    _row(State.MANUAL_REVIEW, State.CONFIRMED, Trigger.CONFIRM, by=_PERSON,
         when="an operator has seen the effect and gives evidence", carries=_DECISION),
    _row(State.MANUAL_REVIEW, State.CONFIRMED, Trigger.VERDICT_CORRECT, by=_RECONCILER,
         when="a later probe shows the effect and the policy allows it", carries=_VERDICT),
    _row(State.MANUAL_REVIEW, State.NOT_APPLICABLE, Trigger.CLOSE, by=_PERSON,
         when="an operator closes it with evidence", carries=_CLOSING),

    _row(State.CONFIRMED, State.MANUAL_REVIEW,
         Trigger.VERDICT_ABSENT, Trigger.VERDICT_DIVERGENT, Trigger.VERDICT_AMBIGUOUS, by=_RECONCILER,
         when="a later probe disagrees, or shows the effect more than once", carries=_VERDICT),
    _row(State.CONFIRMED, State.MANUAL_REVIEW, Trigger.REOPEN, by=_PERSON,
         when="a manager reopens it with evidence", carries=_DECISION),
    _row(State.COMPENSATED, State.MANUAL_REVIEW, Trigger.REOPEN, by=_PERSON,
         when="a manager reopens it with evidence", carries=_DECISION),
    _row(State.NOT_APPLICABLE, State.MANUAL_REVIEW, Trigger.REOPEN, by=_PERSON,
         when="a manager reopens it with evidence", carries=_DECISION),
)
# fmt: on


def known(words: type[_Words], value: str | None) -> _Words | None:
    """Return the member that a stored word names; None for none, and for a word that a host made up."""
    return words(value) if value in list(words) else None


def find_transition(source: State, target: State, *, trigger: Trigger, actor: ActorKind) -> Transition:
    """Return the row that allows this change, or raise TransitionError."""
    for row in TRANSITIONS:
        if (row.source, row.target) == (source, target) and trigger in row.triggers and actor in row.actors:
            return row
    raise TransitionError(source=source, target=target, trigger=trigger)


def targets(source: State, *, trigger: Trigger) -> State:
    """Return the one state that a trigger leads to; TransitionError where there is none, or a choice."""
    found = {row.target for row in TRANSITIONS if row.source is source and trigger in row.triggers}
    if len(found) != 1:
        raise TransitionError(source=source, target=None, trigger=trigger)
    return found.pop()


def diagram() -> str:
    """Draw the table as a mermaid stateDiagram-v2, one arrow to each pair of states."""
    arrows: dict[tuple[State, State], set[Trigger]] = {}
    for row in TRANSITIONS:
        arrows.setdefault((row.source, row.target), set()).update(row.triggers)
    lines = ["stateDiagram-v2", "    [*] --> pending"]
    for (source, target), triggers in arrows.items():
        lines.append(f"    {source} --> {target}: {', '.join(t for t in Trigger if t in triggers)}")
    lines += [f"    {state} --> [*]" for state in State if state in TERMINAL]
    return "\n".join(lines)


def table() -> str:
    """Write the table in Markdown, one line to each row."""
    lines = ["| from | to | set off by | by | when | carries |", "|---|---|---|---|---|---|"]
    for row in TRANSITIONS:
        triggers = ", ".join(trigger for trigger in Trigger if trigger in row.triggers)
        actors = ", ".join(kind for kind in ActorKind if kind in row.actors)
        carries = ", ".join(sorted(row.carries))
        lines.append(f"| {row.source} | {row.target} | {triggers} | {actors} | {row.condition} | {carries} |")
    return "\n".join(lines)
