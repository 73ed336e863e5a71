"""The figures of the overview, as numbers."""

from flask import Blueprint, Response, request
from pydantic import Field

from dashboard.api.answering import Answer, Moment, answer
from dashboard.api.describing import describes
from dashboard.api.reading import check_query
from dashboard.db import clock
from dashboard.domain.ages import windows_of
from dashboard.domain.permissions import Permission, scopes
from dashboard.edge.context import actor, policies, read, requires
from dashboard.queries import figures as queries
from dashboard.queries.figures import Overview
from dashboard.queries.open_types import TypeFigures

blueprint = Blueprint("figures", __name__, url_prefix="/api/v1/figures")
COUNTED = ("open", "exceptions", "overdue", "manual_review", "awaiting_confirmation", "retry_scheduled")


class Counted(Answer):
    """How many open operations there are, and of which kind."""

    open: int
    exceptions: int
    overdue: int
    manual_review: int
    awaiting_confirmation: int
    retry_scheduled: int
    oldest_age_seconds: float | None


class OfType(Counted):
    """The same for one type."""

    type: str


class Figures(Counted):
    """All figures at one moment of the database's clock; a rate lies between 0 and 1.

    Where very much work is open it is counted every 10 seconds, and `at` is when that was.
    """

    at: Moment
    divergence_rate_30d: float | None
    confirmed_p95_seconds: float | None
    idempotency_conflicts: int
    actions_to_verify: int
    approvals_waiting: int
    types: list[OfType] = Field(default_factory=list)


@blueprint.get("")
@requires(Permission.BROWSE)
@describes("Get the figures", {200: Figures})
def show() -> Response:
    """What needs people now, counted over what the token may see."""
    check_query(request.args, ())
    visible = scopes(actor().grants, Permission.BROWSE)
    with read() as session:
        found = queries.overview(session, scopes=visible, windows=windows_of(policies()), now=clock(session), shown=0)
    return answer(_told(found))


def _told(found: Overview) -> Figures:
    p95 = found.confirmation.p95
    return Figures(
        at=found.now,
        **{name: found.total(name) for name in COUNTED},
        oldest_age_seconds=(found.now - found.oldest).total_seconds() if found.oldest else None,
        divergence_rate_30d=found.divergence.rate,
        confirmed_p95_seconds=p95.total_seconds() if p95 is not None else None,
        idempotency_conflicts=found.idempotency_conflicts,
        actions_to_verify=found.actions_to_verify,
        approvals_waiting=found.approvals_waiting,
        types=[_of_type(each, found) for each in found.types],
    )


def _of_type(figures: TypeFigures, found: Overview) -> OfType:
    return OfType(
        type=figures.type,
        open=figures.open,
        exceptions=figures.exceptions,
        overdue=figures.overdue,
        **{name: figures.states.get(name, 0) for name in COUNTED[3:]},
        oldest_age_seconds=(found.now - figures.oldest).total_seconds(),
    )
