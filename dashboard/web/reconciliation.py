"""Runs of the reconciler: what was asked, what destinations said, and what was done or would have been."""

from typing import Any, NamedTuple

from flask import Blueprint, render_template, request, url_for
from flask_babel import LazyString

from dashboard.domain.permissions import Permission, Scope, scopes
from dashboard.edge.filters import Args, parse_choice, parse_choice_set, parse_position, url_without
from dashboard.models import ReconciliationRun
from dashboard.queries import reconciliation as queries
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.queries.reconciliation import FOUND, ORIGINS, SKIPPED, Counts, RunFilter
from dashboard.web.context import actor, read, requires
from dashboard.web.findings import done, said
from dashboard.web.labels import label
from dashboard.web.language import lazy_gettext
from dashboard.web.lists import paged

blueprint = Blueprint("reconciliation", __name__, url_prefix="/reconciliation")
blueprint.add_app_template_filter(said, "finding_said")
blueprint.add_app_template_filter(done, "finding_done")

ORIGIN_WORDS: dict[str, LazyString] = {
    "worker": lazy_gettext("Worker"),
    "command": lazy_gettext("Command line"),
    "check": lazy_gettext("Check of one operation"),
    "evidence": lazy_gettext("Evidence received"),
}
STATE_WORDS: dict[str, LazyString] = {
    "running": lazy_gettext("Running"),
    "finished": lazy_gettext("Finished"),
    "stopped": lazy_gettext("Stopped early"),
}


class Figure(NamedTuple):
    """A count of a run's findings, with the address of exactly those."""

    name: str
    word: str
    value: int
    url: str
    chosen: bool


@blueprint.get("")
@requires(Permission.BROWSE)
def index() -> str:
    """List the runs that found something within the person's grants, newest first."""
    seen = scopes(actor().grants, Permission.BROWSE)
    filters = RunFilter(origin=parse_choice(request.args, "origin", ORIGINS))
    position = parse_position(request.args)
    with read() as session:
        page = queries.list_runs(session, filters, scopes=seen, position=position)
        counts = queries.counts_of(session, page.rows, scopes=seen)
    return render_template(
        "reconciliation/index.html",
        runs=[_line(run, counts.get(run.id, Counts())) for run in page.rows],
        **paged(page, position),
        chips=(),
        origins=[("", str(lazy_gettext("Anywhere"))), *((name, str(word)) for name, word in ORIGIN_WORDS.items())],
        sees_everything=Scope(None, None) in seen,
    )


@blueprint.get(f"/<int(max={LARGEST_NUMBER}):number>")
@requires(Permission.BROWSE)
def show(number: int) -> str:
    """Show one run and its findings."""
    seen = scopes(actor().grants, Permission.BROWSE)
    found, position = parse_choice_set(request.args, "verdict", FOUND), parse_position(request.args)
    with read() as session:
        run = queries.get_run(session, number, scopes=seen)
        counts = queries.counts_of(session, [run], scopes=seen).get(number, Counts())
        page = queries.list_findings(session, number, found=found, scopes=seen, position=position)
    return render_template(
        "reconciliation/show.html",
        run=run,
        counts=counts,
        figures=_figures(run, counts),
        **paged(page, position),
        chips=_chips(request.args),
    )


@blueprint.app_template_filter("run_state")
def run_state(state: str) -> str:
    """Say whether a run goes on, ended, or broke off."""
    return str(STATE_WORDS.get(state, state))


@blueprint.app_template_filter("run_origin")
def run_origin(origin: str) -> str:
    """Say from where a run was started."""
    return str(ORIGIN_WORDS.get(origin, origin))


def _line(run: Any, counts: Counts) -> tuple[Any, Counts, str, list[tuple[str, int, str]]]:
    """A run with its address, and what it found: each with its word, how often, and the address of exactly those."""
    address = url_for("reconciliation.show", number=run.id)
    named = ((name, counts.of(name)) for name in FOUND)
    return run, counts, address, [(_word(name), count, f"{address}?verdict={name}") for name, count in named if count]


def _figures(run: ReconciliationRun, counts: Counts) -> list[Figure]:
    chosen = request.args.getlist("verdict")
    return [
        Figure(
            name,
            _word(name),
            counts.of(name),
            url_for("reconciliation.show", number=run.id, verdict=name),
            chosen=name in chosen,
        )
        for name in FOUND
        if name != SKIPPED or counts.of(SKIPPED)
    ]


def _chips(args: Args) -> list[tuple[str, str]]:
    names: list[Any] = [name for name in dict.fromkeys(args.getlist("verdict")) if name]
    return [(_word(name), url_without("verdict", name)) for name in names]


def _word(name: str) -> str:
    return str(lazy_gettext("Changed meanwhile")) if name == SKIPPED else label("verdict", name)
