"""Silences: a page that says what nobody will be told of, the form that does it once, and the end of one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString
from sqlalchemy.orm import Session

from dashboard.domain.alerting import (
    EVERY_RULE,
    INSTALLATION,
    INSTALLATION_RULES,
    TYPE_RULES,
    may_silence,
    sight,
)
from dashboard.domain.errors import InvalidInputError, NotFoundError
from dashboard.domain.permissions import Actor, Permission
from dashboard.models import AlertSilence
from dashboard.queries import alerts as queries
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.services import silences
from dashboard.services.silences import Wish
from dashboard.web.alert_cards import rule_name, subject_name
from dashboard.web.context import actor, database, policies, read, requires
from dashboard.web.formatting import moment_title
from dashboard.web.language import gettext, lazy_gettext
from dashboard.web.wording import by_field

blueprint = Blueprint("alert_silences", __name__, url_prefix="/alerts")

LENGTHS: Mapping[str, tuple[timedelta, LazyString]] = {
    "1h": (timedelta(hours=1), lazy_gettext("1 hour")),
    "4h": (timedelta(hours=4), lazy_gettext("4 hours")),
    "12h": (timedelta(hours=12), lazy_gettext("12 hours")),
    "1d": (timedelta(days=1), lazy_gettext("1 day")),
    "3d": (timedelta(days=3), lazy_gettext("3 days")),
    "7d": (timedelta(days=7), lazy_gettext("7 days")),
    "30d": (timedelta(days=30), lazy_gettext("30 days")),
}
NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)
FIELDS = ("rule", "lasts", "note")


@dataclass(frozen=True)
class Typed:
    """What the form shows again, what is wrong with it, and whether it only came back."""

    rule: str = EVERY_RULE
    lasts: str = "4h"
    note: str = ""
    problems: Mapping[str, str] | None = None
    came_back: bool = False


@blueprint.get("/silence")
@requires(Permission.SILENCE)
def form() -> ResponseReturnValue:
    """Ask what is to be silenced, then show the form for it; changes nothing."""
    subject = request.args.get("subject")
    if subject is None:
        return _choice()
    return _page(subject, Typed(rule=request.args.get("rule", EVERY_RULE)))


@blueprint.post("/silence")
@requires(Permission.SILENCE)
def silence() -> ResponseReturnValue:
    """Silence it, once, and go back to the alerts; or show the form again with everything that was typed."""
    sent = request.form
    subject, rule, key = (sent.get(name) for name in ("subject", "rule", "idempotency_key"))
    if subject is None:
        return _choice(status=422)
    if rule is None or key is None:  # to guess would silence the most there is
        return _page(subject, _typed(came_back=True), status=422)
    lasts = LENGTHS.get(sent.get("lasts", ""))
    wish = Wish(subject, rule, lasts[0] if lasts else None, sent.get("note"), key)
    try:
        done = silences.silence(database(), actor=actor(), wish=wish, policies=policies())
    except InvalidInputError as error:
        return _page(subject, _typed(problems=by_field(error)), status=422)
    flash(*_told(done))
    return redirect(url_for("alerts.index"), 303)


@blueprint.post("/unsilence")
@requires(Permission.SILENCE)
def unsilence() -> ResponseReturnValue:
    """End a silence before its time: what fires is told again."""
    number = request.form.get("silence", "")
    if not NUMBER.fullmatch(number) or int(number) > LARGEST_NUMBER:
        raise NotFoundError(silence=number)
    silences.unsilence(database(), actor=actor(), number=int(number))
    flash(gettext("The silence has ended. What still fires is told again."), "ok")
    return redirect(url_for("alerts.index"), 303)


def _told(silenced: AlertSilence) -> tuple[str, str]:
    if silenced.ended_at is not None:
        return gettext("This form had been sent before, and was done then. Nothing was done twice."), "info"
    return gettext("Silenced until %(when)s. It is looked at all the same.", when=moment_title(silenced.ends_at)), "ok"


def _choice(*, status: int = 200) -> ResponseReturnValue:
    asking = actor()
    with read() as session:
        subjects = _subjects(session, asking)
    page = render_template("alerts/choose.html", subjects=[(each, subject_name(each)) for each in subjects])
    return page, status


def _subjects(session: Session, asking: Actor) -> Sequence[str]:
    """What the person may silence: the installation, each type of the policy file, and whatever has an alert."""
    found = {INSTALLATION, *policies().types, *queries.subjects(session, sight=sight(asking.grants))}
    return sorted(each for each in found if may_silence(asking.grants, each))


def _page(subject: str, typed: Typed, *, status: int = 200) -> ResponseReturnValue:
    with read() as session:
        silences.check_subject(session, actor(), subject, policies())
    problems = typed.problems or {}
    rules = INSTALLATION_RULES if subject == INSTALLATION else TYPE_RULES
    page = render_template(
        "alerts/silence.html",
        subject=subject,
        name=subject_name(subject),
        rules=[(each, rule_name(each)) for each in (EVERY_RULE, *rules)],
        lengths=[(length, words) for length, (_, words) in LENGTHS.items()],
        typed=typed,
        problems=problems,
        summary=[(name if name in FIELDS else "silence", text) for name, text in problems.items()],
        form_key=uuid4().hex,
    )
    return page, status


def _typed(*, problems: Mapping[str, str] | None = None, came_back: bool = False) -> Typed:
    sent = request.form
    return Typed(sent.get("rule", EVERY_RULE), sent.get("lasts", ""), sent.get("note", ""), problems, came_back)
