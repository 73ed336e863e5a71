"""Alerts: what fires, what may come to, what is silenced and what is over, each with what to do about it."""

from dataclasses import asdict
from functools import partial

from flask import Blueprint, render_template, request, url_for

from dashboard.domain.alerting import AlertState, may_silence, sight
from dashboard.domain.permissions import Permission, holds
from dashboard.edge.filters import parse_position
from dashboard.queries import alerts as queries
from dashboard.queries.alerts import MOST, SeenAlert
from dashboard.web import context
from dashboard.web.alert_cards import card_of, rule_name, subject_name
from dashboard.web.alert_standing import is_telling, notes_of
from dashboard.web.context import actor, policies, read, requires
from dashboard.web.lists import paged

blueprint = Blueprint("alerts", __name__, url_prefix="/alerts")
SHOWN = (AlertState.FIRING.value, AlertState.PENDING.value, "silenced")


@blueprint.get("")
@requires(Permission.ALERTS)
def index() -> str:
    """Show every alert that is not over, and a page of those that are."""
    asking, position = actor(), parse_position(request.args)
    seen = sight(asking.grants)
    with read() as session:
        now = context.now()
        found = queries.open_alerts(session, sight=seen)
        counts = queries.numbers(session, sight=seen)
        told = queries.notices_of(session, [each.alert for each in found])
        page = queries.resolved_alerts(session, sight=seen, position=position)
        silences = queries.silences(session, sight=seen)
        evaluation = queries.evaluation(session)
    card = partial(card_of, reader=asking, policies=policies(), now=now)
    cards = [card(each, notices=told[each.alert.id]) for each in found]
    return render_template(
        "alerts/index.html",
        **paged(page, position),
        groups=[(shown, [each for each in cards if each.shown == shown]) for shown in SHOWN],
        counts=asdict(counts),
        most=MOST if len(cards) >= MOST else None,
        over=[card(SeenAlert(row.Alert)) for row in page.rows],
        silences=[
            (each, subject_name(each.subject), rule_name(each.rule), may_silence(asking.grants, each.subject))
            for each in silences
        ],
        now=now,
        tells=is_telling(policies()),
        notes=notes_of(evaluation, policies=policies(), now=now),
        evaluated_at=evaluation.evaluated_at if evaluation else None,
        sees_nothing=seen.is_empty,
        silence_url=url_for("alert_silences.form") if holds(asking.grants, Permission.SILENCE) else None,
    )
