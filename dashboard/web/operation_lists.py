"""The queue of exceptions and the list of all operations: one list under the same filters.

What differs: the queue holds only what needs a person, worst first, and groups what failed alike.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import Blueprint, render_template, request
from flask_babel import LazyString
from sqlalchemy.orm import Session

from dashboard.domain.ages import windows_of
from dashboard.domain.exceptions import Why, why_here
from dashboard.domain.permissions import Permission, Scope, scopes
from dashboard.domain.states import Cause, State
from dashboard.domain.verdicts import Verdict
from dashboard.edge.filters import ME, parse_position, url_with
from dashboard.edge.operation_filters import AGE_WINDOWS, CAUSES, OPEN_STATES, VERDICTS, WHYS, parse_filter, parse_sort
from dashboard.queries import operations as queries
from dashboard.queries.identity import LIMIT as SEARCH_LIMIT
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.operations import NONE, OPEN_ONLY_SORTS, SORTS, UNASSIGNED, Choices, OperationFilter
from dashboard.queries.queue import Group, Queue, queue_of
from dashboard.queries.totals import Total
from dashboard.web import context
from dashboard.web.bulk_choice import choice
from dashboard.web.context import actor, policies, read, requires
from dashboard.web.formatting import counted, person_zone
from dashboard.web.language import gettext, lazy_gettext, ngettext
from dashboard.web.lists import Look, field, paged
from dashboard.web.offered import offered
from dashboard.web.operation_filters import NAMES, chips, word_of

blueprint = Blueprint("operation_lists", __name__)

ORDERS: dict[str, LazyString] = {
    "newest": lazy_gettext("Newest first"),
    "oldest": lazy_gettext("Oldest first"),
    "worst": lazy_gettext("Longest past its deadline first"),
    "amount": lazy_gettext("Largest amount first"),
}
TIMES = ("min_age", "max_age", "created_from", "created_to", "confirmed_from", "confirmed_to")
MORE = ("tenant", "cause", "assigned", *TIMES, "overdue", "currency", "why", "age_windows")
AGES = ("15m", "1h", "6h", "1d", "1w")
KNOWN_VERDICTS, KNOWN_CAUSES = frozenset(Verdict), frozenset(Cause)


@dataclass(frozen=True)
class Listing:
    """One page of a list, and what the page around it tells."""

    filters: OperationFilter
    sort: Sort
    position: Position
    page: Page
    total: Total
    queue: Queue | None
    choices: Choices
    anything: bool
    now: datetime


@blueprint.get("/exceptions")
@requires(Permission.BROWSE)
def exceptions() -> str:
    """Show the operations that need a person."""
    return _show("operations/list_exceptions.html", exceptions=True)


@blueprint.get("/operations")
@requires(Permission.BROWSE)
def operations() -> str:
    """Show all operations."""
    return _show("operations/list.html", exceptions=False)


def _show(template: str, *, exceptions: bool) -> str:
    asking, args = actor(), request.args
    filters = parse_filter(
        args, me=asking.id, zone=person_zone(), windows=windows_of(policies()), exceptions=exceptions
    )
    sort = parse_sort(args, filters, default="worst" if exceptions else "newest")
    position = parse_position(args)
    with read() as session:
        listing = _listing(session, filters, sort, position, visible=scopes(asking.grants, Permission.BROWSE))
    return render_template(
        template,
        listing=listing,
        rows=[(row, _why(row, now=listing.now)) for row in listing.page.rows],
        **paged(listing.page, position),
        chips=chips(args, exceptions=exceptions),
        total=_in_words(listing.total, searched=filters.query is not None),
        order=ORDERS[sort.name],
        zone=person_zone().key,
        form=_form(listing),
        columns=_columns(listing),
        open_states=OPEN_STATES,
        looks_at=_looks(listing),
        bulk=choice(exceptions=exceptions, asking=asking),
    )


def _listing(
    session: Session, filters: OperationFilter, sort: Sort, position: Position, *, visible: Sequence[Scope]
) -> Listing:
    now = context.now()
    page = queries.list_operations(session, filters, scopes=visible, sort=sort, position=position, now=now)
    queue = queue_of(session, filters, scopes=visible, now=now) if filters.exceptions else None
    return Listing(
        filters=filters,
        sort=sort,
        position=position,
        page=page,
        total=_total(session, filters, queue, visible=visible, now=now),
        queue=queue,
        choices=offered(session, scopes=visible),
        anything=bool(page.rows) or queries.has_any(session, scopes=visible),
        now=now,
    )


def _total(
    session: Session, filters: OperationFilter, queue: Queue | None, *, visible: Sequence[Scope], now: datetime
) -> Total:
    # A search looks at so many rows of an identity, and the filter takes part in which.
    if queue and not filters.query:
        return Total(queue.chosen, capped=False)
    return queries.count_operations(session, filters, scopes=visible, now=now)


def _why(row: Any, *, now: datetime) -> tuple[Why, ...]:
    # Hosts write these columns by plain SQL: a word we do not know is no reason to fail.
    return why_here(
        state=State(row.state),
        verdict=Verdict(row.verdict) if row.verdict in KNOWN_VERDICTS else None,
        cause=Cause(row.cause) if row.cause in KNOWN_CAUSES else None,
        deadline_at=row.deadline_at,
        now=now,
    )


def _in_words(total: Total, *, searched: bool) -> str:
    """Say how many there are; a capped count, and a search that reached its limit, may have more."""
    beyond = total.capped or (searched and total.value >= SEARCH_LIMIT)
    count = counted(Total(total.value, capped=beyond))
    return ngettext("%(count)s operation", "%(count)s operations", total.value, count=count)


def _form(listing: Listing) -> dict[str, Any]:
    """What the filter form offers, by parameter: (value, word) pairs and what is chosen of them."""
    filters, open_work = listing.filters, listing.choices
    sorts = [name for name in SORTS if filters.only_open or name not in OPEN_ONLY_SORTS]
    offered: dict[str, Iterable[str]] = {
        "state": OPEN_STATES if filters.exceptions else State,
        "type": open_work.types,
        "tenant": open_work.tenants,
        "destination": open_work.destinations,
        "verdict": (*VERDICTS, NONE),
        "cause": (*CAUSES, NONE),
        "assigned": (ME, UNASSIGNED),
        "why": WHYS,
        "age_windows": AGE_WINDOWS,
    }
    return {
        **{name: field(name, options, names=NAMES, word=word_of) for name, options in offered.items()},
        "ages": AGES,
        "sorts": [(name, ORDERS[name]) for name in sorts],
        "more": sum(bool(request.args.get(name)) for name in MORE),
    }


def _columns(listing: Listing) -> dict[str, tuple[str, str]]:
    """The sortable columns: the address that sorts by each, and how it is sorted now, as aria-sort says it."""
    by = listing.sort.name
    age = {"newest": "ascending", "oldest": "descending"}.get(by, "")
    found = {"age": (url_with(sort="newest" if by == "oldest" else "oldest"), age)}
    if listing.filters.only_open:
        found["deadline"] = (url_with(sort="worst"), "ascending" if by == "worst" else "")
        found["amount"] = (url_with(sort="amount"), "descending" if by == "amount" else "")
    return found


def _looks(listing: Listing) -> list[Look]:
    """All, and each group of what failed alike; none where nothing is grouped."""
    queue = listing.queue
    if queue is None:
        return []
    found = [_look(group, listing.filters) for group in queue.groups]
    every = url_with(type=None, verdict=None, cause=None)
    only = not any(look.chosen for look in found)
    return [Look(every, gettext("All"), Total(queue.size, capped=False), only), *found] if found else []


def _look(group: Group, filters: OperationFilter) -> Look:
    verdict, cause = group.verdict or NONE, group.cause or NONE
    words = [word_of("type", group.type)]
    words += [word_of(name, value) for name, value in (("verdict", verdict), ("cause", cause)) if value != NONE]
    chosen = filters.types == {group.type} and filters.verdicts == {verdict} and filters.causes == {cause}
    url = url_with(type=group.type, verdict=verdict, cause=cause)
    told = " · ".join(words) if len(words) > 1 else f"{words[0]} · {gettext('not classified')}"
    return Look(url, told, Total(group.size, capped=False), chosen)
