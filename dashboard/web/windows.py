"""The window advisor: the measured times from sending to confirmation beside what the policy says."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from flask import Blueprint, render_template
from flask_babel import LazyString
from sqlalchemy.orm import Session

from dashboard.domain.permissions import Permission, Scope, scopes
from dashboard.domain.policy import TypePolicy
from dashboard.domain.window_advice import FEWEST, Advice, Measured, advise, measure
from dashboard.queries.window_advice import DAYS, NEWEST, durations
from dashboard.web import context
from dashboard.web.context import actor, policies, read, requires
from dashboard.web.formatting import duration
from dashboard.web.language import gettext, lazy_gettext

blueprint = Blueprint("windows", __name__)

# Each costs one bounded query; the page stays quick whatever the policy file names.
MOST_TYPES = 50
TONES = {Advice.FITS: "tone-ok", Advice.TOO_FEW: "tone-neutral", Advice.LOOKS_BEFORE_LAG: "tone-danger"}
NAMES: dict[Advice, LazyString] = {
    Advice.TOO_FEW: lazy_gettext("Not enough"),
    Advice.PROBES_TOO_EARLY: lazy_gettext("Asks too early"),
    Advice.DEADLINE_TOO_SHORT: lazy_gettext("Deadline too short"),
    Advice.LOOKS_BEFORE_LAG: lazy_gettext("Looks before the lag"),
    Advice.FITS: lazy_gettext("Fits"),
}
WORDS: dict[Advice, LazyString] = {
    Advice.TOO_FEW: lazy_gettext("Fewer than %(fewest)s were sent."),
    Advice.PROBES_TOO_EARLY: lazy_gettext(
        "%(p95)s pass until 95 of 100 are confirmed, and the first check comes after %(window)s."
    ),
    Advice.DEADLINE_TOO_SHORT: lazy_gettext(
        "%(p99)s pass until 99 of 100 are confirmed, and the deadline allows %(deadline)s."
    ),
    Advice.LOOKS_BEFORE_LAG: lazy_gettext(
        "The first check comes after %(window)s, before the visibility lag of %(lag)s is over: it can prove nothing."
    ),
    Advice.FITS: lazy_gettext("The times of the policy fit."),
}


class Row(NamedTuple):
    """One type: its written times, the measured ones, and what they say about each other."""

    policy: TypePolicy
    measured: Measured
    advice: Sequence[tuple[str, str, str]]


@blueprint.get("/reconciliation/windows")
@requires(Permission.BROWSE)
def index() -> str:
    """Show each type of the policy file that the person may see."""
    within = scopes(actor().grants, Permission.BROWSE)
    covered = [policy for name, policy in policies().types.items() if _sees(within, name)]
    with read() as session:
        rows = list(_rows(session, covered[:MOST_TYPES], within))
    return render_template(
        "reconciliation/windows.html",
        rows=rows,
        left_out=len(covered) - len(rows),
        days=DAYS.days,
        newest=NEWEST,
        has_file=bool(policies().hash),
    )


def _rows(session: Session, covered: Sequence[TypePolicy], within: Sequence[Scope]) -> Iterator[Row]:
    now = context.now()
    for policy in covered:
        measured = measure(durations(session, policy.name, scopes=within, now=now))
        yield Row(policy, measured, [_told(advice, measured, policy) for advice in advise(measured, policy)])


def _told(advice: Advice, measured: Measured, policy: TypePolicy) -> tuple[str, str, str]:
    details = {
        "fewest": FEWEST,
        "p95": _length(measured.p95, measured),
        "p99": _length(measured.p99, measured),
        "window": duration(policy.window.after),
        "lag": duration(policy.visibility_lag),
        "deadline": duration(policy.deadline),
    }
    return TONES.get(advice, "tone-warn"), str(NAMES[advice]), str(WORDS[advice]) % details


def _length(length: timedelta | None, measured: Measured) -> str:
    """A measured time; where too many are unconfirmed, what it must at least be."""
    if length is not None:
        return duration(length)
    return gettext("More than %(length)s", length=duration(measured.longest))


def _sees(within: Sequence[Scope], operation_type: str) -> bool:
    return any(scope.type in (None, operation_type) for scope in within)
