"""The policy screens: one row a type, and each type explained in plain sentences.

A policy belongs to a type whatever the tenant; a person whose grants are limited to types sees only those.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

from flask import Blueprint, current_app, render_template, request

from dashboard.db import clock
from dashboard.domain.errors import NotFoundError
from dashboard.domain.explaining import Statement, explain
from dashboard.domain.permissions import Permission, Scope, scopes
from dashboard.edge.operation_filters import OPEN_STATES
from dashboard.queries.policies import known_since, open_by_type
from dashboard.services.policies import remember
from dashboard.web.context import actor, policies, read, requires, write
from dashboard.web.operation_filters import listed
from dashboard.web.policy_words import SECTIONS, sentence
from dashboard.web.type_names import know_names

blueprint = Blueprint("policies", __name__, url_prefix="/policies")
blueprint.record_once(know_names)

READING = frozenset({"GET", "HEAD", "OPTIONS"})
REMEMBERED = "dashboard.policies_remembered"


@blueprint.before_app_request
def remember_version() -> None:
    """Keep the version in force before the first request that may decide something by it."""
    if request.method in READING or REMEMBERED in current_app.extensions:
        return
    in_force = policies()
    write(lambda session: remember(session, in_force, now=clock(session)))
    current_app.extensions[REMEMBERED] = in_force.hash


@blueprint.get("")
@requires(Permission.BROWSE)
def index() -> str:
    """List the types of the policy file, and the types of open operations that it does not name."""
    within = scopes(actor().grants, Permission.BROWSE)
    in_force = policies()
    with read() as session:
        counts = open_by_type(session, scopes=within)
        since = known_since(session, in_force.hash)
    return render_template(
        "policies/index.html",
        policies=in_force,
        since=since,
        covered=[policy for name, policy in in_force.types.items() if _sees(within, name)],
        uncovered=[name for name in counts if name not in in_force.types],
        counts=counts,
        listed=listed,
        open_states=list(OPEN_STATES),
    )


@blueprint.get("/<type_name:operation_type>")
@requires(Permission.BROWSE)
def show(operation_type: str) -> str:
    """Explain one type; one that the file does not name follows the defaults as long as operations of it are open."""
    within = scopes(actor().grants, Permission.BROWSE)
    in_force = policies()
    with read() as session:
        counts = open_by_type(session, scopes=within)
        since = known_since(session, in_force.hash)
    if not _sees(within, operation_type) or operation_type not in {*in_force.types, *counts}:
        raise NotFoundError
    return render_template(
        "policies/show.html",
        policies=in_force,
        since=since,
        name=operation_type,
        policy=in_force.of(operation_type),
        destination=in_force.destinations.get(in_force.of(operation_type).destination),
        sections=_sections(explain(in_force, operation_type)),
        section_words=SECTIONS,
        sentence=sentence,
        count=counts.get(operation_type, 0),
        listed=listed,
        open_states=list(OPEN_STATES),
    )


def _sees(within: Sequence[Scope], operation_type: str) -> bool:
    return any(scope.type in (None, operation_type) for scope in within)


def _sections(statements: Sequence[Statement]) -> Mapping[str, list[Statement]]:
    return {section: list(told) for section, told in groupby(statements, key=lambda statement: statement.section)}
