"""Whether anybody looks at the rules and is told of them: an empty list of alerts says nothing where nobody does."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from dashboard.domain.policy import Policies
from dashboard.domain.text import visible
from dashboard.models import AlertEvaluation
from dashboard.web.formatting import ago
from dashboard.web.language import gettext

# The worker looks every half minute.
LATE = timedelta(minutes=5)


class Note(NamedTuple):
    """What to know before one relies on the list."""

    title: str
    text: str
    tone: str


def notes_of(evaluation: AlertEvaluation | None, *, policies: Policies, now: datetime) -> Sequence[Note]:
    """Say what keeps alerts from being seen or told; nothing where all is well."""
    return list(_notes(evaluation, policies, now))


def is_telling(policies: Policies) -> bool:
    """Tell whether anybody is told of alerts."""
    return policies.alerts.webhook is not None or bool(policies.alerts.mail)


def _notes(evaluation: AlertEvaluation | None, policies: Policies, now: datetime) -> Iterator[Note]:
    if not policies.watched:
        yield Note(
            gettext("Nothing is watched"),
            gettext("The policy file has no limits yet, so nothing fires. See “alerts” in its documentation."),
            "info",
        )
        return
    looked = evaluation.evaluated_at if evaluation else None
    if looked is None or now - looked > LATE:
        text = gettext("What is below may be old, and nobody is told of anything. See whether `dashboard worker` runs.")
        since = gettext("Nobody has looked since %(when)s", when=ago(looked)) if looked else gettext("Nobody looks yet")
        yield Note(since, text, "danger")
    if evaluation and evaluation.unreadable:
        text = gettext("Their alerts stay as they were: %(names)s.", names=visible(evaluation.unreadable))
        yield Note(gettext("Some figures could not be read"), text, "warn")
    if not is_telling(policies):
        text = gettext("The policy file names neither a webhook nor mail: alerts are seen here and nowhere else.")
        yield Note(gettext("Nobody is told of alerts"), text, "info")
