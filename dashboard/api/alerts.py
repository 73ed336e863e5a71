"""Alerts that are not over, for programs that watch: what fires and what may come to."""

from decimal import Decimal

from flask import Blueprint, Response, request
from pydantic import Field

from dashboard.api.answering import Answer, Moment, answer
from dashboard.api.describing import describes
from dashboard.api.reading import check_query
from dashboard.db import clock
from dashboard.domain.alert_words import in_english, rows_path, what_is_wrong, what_to_do
from dashboard.domain.alerting import sight
from dashboard.domain.permissions import Permission
from dashboard.edge.context import actor, read, requires
from dashboard.queries import alerts as queries
from dashboard.queries.alerts import breach_of

blueprint = Blueprint("alerts", __name__, url_prefix="/api/v1/alerts")


class OpenAlert(Answer):
    """An alert that is `firing`, or `pending`: above its limit and not long enough.

    `type` is null for the installation. `figure` and `threshold` are counts, seconds or shares, as the rule has it.
    """

    alert: int
    rule: str
    type: str | None
    state: str
    silenced_until: Moment | None
    summary: str
    what_to_do: str
    rows: str
    figure: Decimal
    threshold: Decimal
    since: Moment
    fired_at: Moment | None


class Alerts(Answer):
    """What is not over, at most 200, those that fire first; `evaluated_at` is the last look at the rules."""

    at: Moment
    evaluated_at: Moment | None
    items: list[OpenAlert] = Field(default_factory=list)


@blueprint.get("")
@requires(Permission.ALERTS)
@describes("List alerts", {200: Alerts})
def index() -> Response:
    """Alerts of the token's types, of all tenants; those of the installation too where it has all types."""
    check_query(request.args, ())
    with read() as session:
        now, evaluation = clock(session), queries.evaluation(session)
        found = queries.open_alerts(session, sight=sight(actor().grants))
    items = [
        OpenAlert(
            **{name: getattr(seen.alert, name) for name in ("rule", "state", "since", "fired_at")},
            alert=seen.alert.id,
            type=seen.alert.subject or None,
            silenced_until=seen.silence.ends_at if seen.silence else None,
            summary=in_english(what_is_wrong(breach_of(seen.alert))),
            what_to_do=what_to_do(breach_of(seen.alert)),
            rows=rows_path(breach_of(seen.alert), now=now),
            figure=Decimal(seen.alert.figure),
            threshold=Decimal(seen.alert.threshold),
        )
        for seen in found
    ]
    return answer(Alerts(at=now, evaluated_at=evaluation.evaluated_at if evaluation else None, items=items))
