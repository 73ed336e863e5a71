"""Runs of the reconciler, and what each found."""

from typing import Any

from flask import Blueprint, Response, request
from pydantic import Field

from dashboard.api.answering import Answer, Links, Moment, answer, links_of
from dashboard.api.describing import Parameter, describes
from dashboard.api.parameters import PAGE, choice
from dashboard.api.reading import check_query
from dashboard.domain.permissions import Permission, scopes
from dashboard.edge.context import actor, read, requires
from dashboard.edge.filters import parse_choice, parse_choice_set, parse_position
from dashboard.queries import reconciliation as queries
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.queries.reconciliation import FOUND, ORIGINS, Counts, RunFilter

blueprint = Blueprint("reconciliation", __name__, url_prefix="/api/v1/reconciliation/runs")
RUNS = (Parameter("origin", choice(ORIGINS)), *PAGE)
FINDINGS = (Parameter("verdict", choice(FOUND), repeated=True), *PAGE)


class Run(Answer):
    """A run of the reconciler; counts are of what the token may see."""

    run: int
    origin: str
    started_by: str
    observe: bool
    only_type: str | None
    policy_hash: str | None
    started_at: Moment
    finished_at: Moment | None
    examined: int
    acted: int
    found: dict[str, int] = Field(default_factory=dict)


class RunPage(Links):
    """A page of runs, newest first."""

    items: list[Run]


class FindingRow(Answer):
    """What a run found out about one operation, and what policy makes of it."""

    at: Moment
    operation_id: str
    type: str
    state: str
    verdict: str
    response: str
    target: str | None
    applied: bool
    reason: str


class FindingPage(Links):
    """A page of findings, in the order in which they were made."""

    items: list[FindingRow]


@blueprint.get("")
@requires(Permission.BROWSE)
@describes("List runs", {200: RunPage}, query=RUNS)
def index() -> Response:
    """Runs that found anything the token may see, newest first."""
    check_query(request.args, RUNS)
    visible, filters = (
        scopes(actor().grants, Permission.BROWSE),
        RunFilter(parse_choice(request.args, "origin", ORIGINS)),
    )
    with read() as session:
        page = queries.list_runs(session, filters, scopes=visible, position=parse_position(request.args))
        counts = queries.counts_of(session, page.rows, scopes=visible)
    items = [_told(run, counts.get(run.id, Counts())) for run in page.rows]
    return answer(RunPage(items=items, **links_of(page).model_dump()))


@blueprint.get(f"/<int(max={LARGEST_NUMBER}):number>")
@requires(Permission.BROWSE)
@describes("Get a run", {200: Run})
def show(number: int) -> Response:
    """One run."""
    check_query(request.args, ())
    visible = scopes(actor().grants, Permission.BROWSE)
    with read() as session:
        run = queries.get_run(session, number, scopes=visible)
        counts = queries.counts_of(session, [run], scopes=visible)
    return answer(_told(run, counts.get(run.id, Counts())))


@blueprint.get(f"/<int(max={LARGEST_NUMBER}):number>/findings")
@requires(Permission.BROWSE)
@describes("List the findings of a run", {200: FindingPage}, query=FINDINGS)
def findings(number: int) -> Response:
    """What a run found out about operations that the token may see."""
    check_query(request.args, FINDINGS)
    found, position = parse_choice_set(request.args, "verdict", FOUND), parse_position(request.args)
    visible = scopes(actor().grants, Permission.BROWSE)
    with read() as session:
        queries.get_run(session, number, scopes=visible)
        page = queries.list_findings(session, number, found=found, scopes=visible, position=position)
    items = [FindingRow.model_validate(row) for row in page.rows]
    return answer(FindingPage(items=items, **links_of(page).model_dump()))


def _told(run: Any, counts: Counts) -> Run:
    names = ("origin", "started_by", "observe", "only_type", "policy_hash", "started_at", "finished_at")
    values: dict[str, Any] = {name: getattr(run, name) for name in names}
    found = {name: counts.of(name) for name in FOUND}
    return Run(run=run.id, examined=counts.examined, acted=counts.acted, found=found, **values)
