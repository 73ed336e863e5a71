"""An operation told in a few plain sentences, for somebody who never read the manual.

1. What it is to do, in the words of its policy where there are any.
2. What happened to it.
3. What the last look at the destination found.
4. What it waits for, and since when.

Each is a whole sentence, so that each can be translated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask_babel import LazyString

from dashboard.domain.states import OPEN, Cause, EventKind, State, known
from dashboard.domain.text import visible
from dashboard.domain.verdicts import Verdict
from dashboard.models import Operation
from dashboard.queries.history import Probe, TimelineEntry
from dashboard.web.differences import Difference
from dashboard.web.formatting import ago, clock_time, duration, money
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext
from dashboard.web.naming import entity_name, type_name


@dataclass(frozen=True)
class Told:
    """What the sentences are made from; `differing` are the compared fields that differ."""

    operation: Operation
    description: str
    timeline: Sequence[TimelineEntry]
    probe: Probe | None
    differing: Sequence[Difference]
    compensating: bool
    now: datetime


def tell(told: Told) -> str:
    """Give the sentences, one after the other."""
    parts = [_purpose(told), _happened(told), *_found(told), *_waits(told)]
    return " ".join(part for part in parts if part)


def _purpose(told: Told) -> str:
    row = told.operation
    what = visible(told.description.rstrip(". ")) or type_name(row.type)
    if row.amount is None:
        return gettext("%(what)s: %(entity)s.", what=what, entity=entity_name(row))
    return str(
        gettext(
            "%(what)s: %(amount)s for %(entity)s.",
            what=what,
            amount=money(row.amount, row.currency),
            entity=entity_name(row),
        )
    )


def _happened(told: Told) -> str:
    return _BY_STATE[State(told.operation.state)](told)


def _pending(told: Told) -> str:
    if told.operation.parent_id is not None:
        return _say(told, lazy_gettext("It undoes an earlier operation and waits for its first attempt."))
    return _say(told, lazy_gettext("It waits for its first attempt; nothing was sent to %(destination)s yet."))


def _processing(told: Told) -> str:
    row = told.operation
    if row.lease_until and row.lease_until < told.now:
        return _say(
            told,
            lazy_gettext("A worker began to send it to %(destination)s %(since)s and was not heard of since."),
        )
    return _say(told, lazy_gettext("A worker began to send it to %(destination)s %(since)s."))


def _tried(told: Told) -> str:
    """Say how the last attempt ended."""
    cause = known(Cause, told.operation.cause)
    if cause is None:
        return ""
    sent_at = _last_sent(told.timeline, cause)
    if cause is Cause.SENT_UNKNOWN and sent_at:
        return str(
            gettext(
                "It was sent to %(destination)s on %(at)s, and the answer never came.",
                destination=visible(told.operation.destination),
                at=clock_time(sent_at),
            )
        )
    return _say(told, _BY_CAUSE[cause])


def _confirmed(told: Told) -> str:
    at = told.operation.confirmed_at or told.operation.state_since
    by = _who_moved(told, State.CONFIRMED)
    if by and by.actor_kind == "user":
        return gettext("%(who)s confirmed it on %(at)s.", who=visible(by.actor_id or ""), at=clock_time(at))
    if by and by.actor_kind == "reconciler":
        return _say(told, lazy_gettext("A check found the effect as expected and confirmed it on %(at)s."), at=at)
    return _say(told, lazy_gettext("It is done: %(destination)s confirmed it on %(at)s."), at=at)


def _compensated(told: Told) -> str:
    return _say(told, lazy_gettext("Its effect was undone on %(at)s; nothing is left to do."))


def _not_applicable(told: Told) -> str:
    reason = told.operation.closed_reason
    if reason is None:
        return _say(told, lazy_gettext("It ended without being done on %(at)s; nothing is left to do."))
    return str(
        gettext(
            "It was closed on %(at)s (%(reason)s); nothing is left to do.",
            at=clock_time(told.operation.state_since),
            reason=label("reason_code", reason),
        )
    )


def _found(told: Told) -> list[str]:
    """Say what the last check showed, while that still matters."""
    row = told.operation
    verdict = known(Verdict, row.verdict)
    if verdict is None or State(row.state) not in OPEN:
        return []
    if verdict is Verdict.DIVERGENT and len(told.differing) == 1:
        return [_one_difference(told, told.differing[0])]
    if verdict is Verdict.DIVERGENT and told.differing:
        fields = ", ".join(each.path for each in told.differing)
        return [_looked(told, lazy_gettext("These fields differ from what was expected: %(fields)s."), fields=fields)]
    if verdict is Verdict.AMBIGUOUS and told.probe and (told.probe.candidates or 0) > 1:
        several = lazy_gettext("It found %(count)s candidates and could not tell which is ours.")
        return [_looked(told, several, count=told.probe.candidates)]
    return [_looked(told, _BY_VERDICT[verdict])]


def _one_difference(told: Told, one: Difference) -> str:
    return _looked(
        told,
        lazy_gettext("It found the effect, but %(field)s is %(actual)s instead of %(expected)s."),
        field=one.path,
        actual=one.actual,
        expected=one.expected,
    )


def _looked(told: Told, sentence: LazyString, **values: object) -> str:
    at = told.operation.verdict_at
    asked = (
        gettext(
            "%(destination)s was last asked %(when)s.", destination=visible(told.operation.destination), when=ago(at)
        )
        if at
        else ""
    )
    return f"{asked} {str(sentence) % values}".strip()


def _waits(told: Told) -> list[str]:
    row, now = told.operation, told.now
    parts = []
    if told.compensating:
        parts.append(gettext("Its compensation is under way; this ends once that is confirmed."))
    elif row.state == State.MANUAL_REVIEW:
        waited = duration(now - row.state_since)
        parts.append(gettext("A person has to decide what happens next; it has waited %(age)s.", age=waited))
    elif row.state == State.RETRY_SCHEDULED and row.next_attempt_at:
        sentence = (
            lazy_gettext("The next attempt is due %(when)s.")
            if row.next_attempt_at > now
            else lazy_gettext("The next attempt has been due since %(when)s.")
        )
        parts.append(str(sentence) % {"when": clock_time(row.next_attempt_at)})
    elif row.state == State.AWAITING_CONFIRMATION:
        parts.append(gettext("Until a check has looked, nobody knows whether the effect exists."))
    if State(row.state) in OPEN and row.deadline_at < now:
        parts.append(gettext("It is %(late)s past its deadline.", late=duration(now - row.deadline_at)))
    return parts


def _say(told: Told, sentence: LazyString, *, at: datetime | None = None) -> str:
    row = told.operation
    return str(sentence) % {
        "destination": visible(row.destination),
        "at": clock_time(at or row.state_since),
        "since": ago(row.state_since),
    }


def _last_sent(timeline: Sequence[TimelineEntry], cause: Cause) -> datetime | None:
    return next((entry.at for entry in timeline if entry.kind == EventKind.ATTEMPT and entry.cause == cause), None)


def _who_moved(told: Told, target: State) -> TimelineEntry | None:
    return next((entry for entry in told.timeline if entry.to_state == target), None)


_BY_STATE: dict[State, Callable[[Told], str]] = {
    State.PENDING: _pending,
    State.PROCESSING: _processing,
    State.RETRY_SCHEDULED: _tried,
    State.AWAITING_CONFIRMATION: _tried,
    State.MANUAL_REVIEW: _tried,
    State.CONFIRMED: _confirmed,
    State.COMPENSATED: _compensated,
    State.NOT_APPLICABLE: _not_applicable,
}

_BY_CAUSE: dict[Cause, Any] = {
    Cause.NOT_SENT: lazy_gettext("The last attempt failed before anything reached %(destination)s."),
    Cause.THROTTLED: lazy_gettext("%(destination)s asked to be called less often and did not take the last attempt."),
    Cause.REJECTED: lazy_gettext("%(destination)s refused the last attempt."),
    Cause.SENT_UNKNOWN: lazy_gettext("It was sent to %(destination)s, and the answer never came."),
    Cause.LOCAL_CONFLICT: lazy_gettext("The last attempt met a conflict in our own records."),
    Cause.PERMANENT: lazy_gettext("The last attempt failed in a way that another attempt would not mend."),
}

_BY_VERDICT: dict[Verdict, Any] = {
    Verdict.ABSENT: lazy_gettext("It found no effect there."),
    Verdict.CORRECT: lazy_gettext("It found the effect as expected."),
    Verdict.DIVERGENT: lazy_gettext("It found an effect that differs from what was expected."),
    Verdict.AMBIGUOUS: lazy_gettext("The answer did not tell whether the effect exists."),
    Verdict.NOT_APPLICABLE: lazy_gettext("It found that the effect is no longer wanted."),
}
