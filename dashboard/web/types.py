"""The types of operations: all of them, worst first, and one of them in everything that is known of its days."""

from functools import partial
from typing import Any

from flask import Blueprint, render_template, request, url_for

from dashboard.domain.ages import AGE_BUCKETS, WINDOW_BUCKETS, windows_of
from dashboard.domain.errors import NotFoundError
from dashboard.domain.exceptions import IN_REVIEW
from dashboard.domain.facts import Fact, Period
from dashboard.domain.permissions import Permission, scopes
from dashboard.domain.text import TextError, check_text
from dashboard.edge.filters import parse_position, parse_text
from dashboard.edge.operation_filters import LONGEST_NAME, OPEN_STATES
from dashboard.queries import trends
from dashboard.queries.open_types import Standing, standing_of
from dashboard.queries.type_list import Type, page_of
from dashboard.web import context
from dashboard.web.context import actor, policies, read, requires
from dashboard.web.history import asked_of, history, looks, shown, type_rows
from dashboard.web.lists import paged
from dashboard.web.operation_filters import listed, of_age
from dashboard.web.type_names import know_names

blueprint = Blueprint("types", __name__, url_prefix="/types")
blueprint.record_once(know_names)

# Evidence is kept no longer than that by default, and counters tell of it all the same.
LONG_AGO_DAYS = 400


@blueprint.get("")
@requires(Permission.BROWSE)
def index() -> str:
    """List the types that have open work or something that happened in these days, the most exceptions first."""
    visible_to, in_force = scopes(actor().grants, Permission.BROWSE), policies()
    position, wanted = parse_position(request.args), parse_text(request.args, "q", maximum=LONGEST_NAME)
    with read() as session:
        now = context.now()
        asked = asked_of(request.args, now=now)
        work = standing_of(session, scopes=visible_to, windows=windows_of(in_force), now=now, tenant=asked.tenant)
        created = trends.counts(
            session, fact=Fact.CREATED, period=asked.period, scopes=visible_to, tenant=asked.tenant
        ).by_type
        open_types = {each.type: each for each in work.types}
        every = [Type(name, open_types.get(name)) for name in {*open_types, *created} if _fits(name, wanted)]
        page = page_of(every, position)
        found = history(session, asked, visible_to, types=[each.name for each in page.rows])
    return render_template(
        "types/index.html",
        **paged(page, position),
        asked=asked,
        found=found,
        fact=Fact,
        **of_work(work, tenant=asked.tenant),
        seen_at=now,
        looks=looks(asked, partial(url_for, ".index", tenant=asked.tenant, q=wanted)),
        happened={row["type"]: row for row in type_rows(found)},
        total=len(every),
        wanted=wanted,
    )


@blueprint.get("/<type_name:name>")
@requires(Permission.BROWSE)
def show(name: str) -> str:
    """Show one type; one that has no policy and no operations within the grants does not exist."""
    visible_to, in_force = scopes(actor().grants, Permission.BROWSE), policies()
    if not _is_name(name) or not any(scope.type in (None, name) for scope in visible_to):
        raise NotFoundError
    with read() as session:
        now = context.now()
        asked = asked_of(request.args, now=now, type=name)
        work = standing_of(
            session, scopes=visible_to, windows=windows_of(in_force), now=now, shown=1, type=name, tenant=asked.tenant
        )
        found = history(session, asked, visible_to)
        happened = any(counts.total for counts in found.counts.values())
        if not (happened or work.types or name in in_force.types):
            long_ago = Period.of(days=LONG_AGO_DAYS, now=now)
            if not trends.counts(session, fact=Fact.CREATED, period=long_ago, scopes=visible_to, type=name).total:
                raise NotFoundError
    return render_template(
        "types/show.html",
        **shown(asked, found),
        **of_work(work, **asked.narrowed),
        seen_at=now,
        name=name,
        policy=in_force.of(name),
        has_policy=name in in_force.types,
        within_window=found.durations.all.share_within(in_force.of(name).window.after),
        happened=happened,
        looks=looks(asked, partial(url_for, ".show", name=name, tenant=asked.tenant)),
    )


def of_work(work: Standing, **narrowed: str | None) -> dict[str, Any]:
    """Give the templates of open work what they show; their lists are narrowed to the same type and tenant."""
    return {
        "work": work,
        "rows": partial(listed, **narrowed),
        "queue": partial(_queue, **narrowed),
        "open_states": list(OPEN_STATES),
        "buckets": [(bucket.name, of_age(bucket)) for bucket in AGE_BUCKETS],
        "window_buckets": [bucket.name for bucket in WINDOW_BUCKETS],
        "whys": [why.value for why in IN_REVIEW],
    }


def _queue(**parameters: Any) -> str:
    return url_for("operation_lists.exceptions", **parameters)


def _fits(name: str, wanted: str | None) -> bool:
    return wanted is None or wanted.casefold() in name.casefold()


def _is_name(name: str) -> bool:
    try:
        return len(check_text(name)) <= LONGEST_NAME
    except TextError:
        return False
