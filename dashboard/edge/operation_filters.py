"""The filter of the lists of operations: from a query string to what the queries take."""

from zoneinfo import ZoneInfo

from dashboard.domain.ages import WINDOW_BUCKETS, Windows
from dashboard.domain.exceptions import IN_REVIEW
from dashboard.domain.states import OPEN, Cause, State
from dashboard.domain.verdicts import Verdict
from dashboard.edge.filters import (
    Args,
    parse_age,
    parse_choice,
    parse_choice_set,
    parse_flag,
    parse_moment,
    parse_person,
    parse_text,
    parse_text_set,
    refuse,
)
from dashboard.queries.keyset import Sort
from dashboard.queries.operations import NONE, OPEN_ONLY_SORTS, SORTS, OperationFilter

OPEN_STATES = tuple(state.value for state in State if state in OPEN)
VERDICTS = tuple(verdict.value for verdict in Verdict)
CAUSES = tuple(cause.value for cause in Cause)
WHYS = tuple(why.value for why in IN_REVIEW)
AGE_WINDOWS = tuple(bucket.name for bucket in WINDOW_BUCKETS)
LONGEST_NAME = 64
# As long as `none`, which stands for no amount.
LONGEST_CURRENCY = 4
# What `parse_filter` reads; a list takes no notice of other names, and nobody else may overlook a slip in one.
NAMES = (
    *("q", "state", "type", "tenant", "destination", "verdict", "cause", "assigned", "min_age", "max_age"),
    *("created_from", "created_to", "confirmed_from", "confirmed_to", "overdue"),
    *("currency", "why", "age_windows"),
)


def parse_filter(args: Args, *, me: str, zone: ZoneInfo, windows: Windows, exceptions: bool = False) -> OperationFilter:
    """Read what the list is narrowed to; `assigned=me` becomes the person's own e-mail.

    `windows` are those of the policies in force, in which `age_windows` counts.
    """
    return OperationFilter(
        states=frozenset(State(value) for value in parse_choice_set(args, "state", State)),
        types=parse_text_set(args, "type", maximum=LONGEST_NAME),
        tenants=parse_text_set(args, "tenant", maximum=LONGEST_NAME),
        destinations=parse_text_set(args, "destination", maximum=LONGEST_NAME),
        verdicts=parse_choice_set(args, "verdict", (*VERDICTS, NONE)),
        causes=parse_choice_set(args, "cause", (*CAUSES, NONE)),
        currencies=parse_text_set(args, "currency", maximum=LONGEST_CURRENCY),
        whys=parse_choice_set(args, "why", WHYS),
        age_windows=parse_choice_set(args, "age_windows", AGE_WINDOWS),
        windows=windows,
        assigned_to=parse_person(args, "assigned", me=me),
        min_age=parse_age(args, "min_age"),
        max_age=parse_age(args, "max_age"),
        created_from=parse_moment(args, "created_from", zone=zone),
        created_to=parse_moment(args, "created_to", zone=zone),
        confirmed_from=parse_moment(args, "confirmed_from", zone=zone),
        confirmed_to=parse_moment(args, "confirmed_to", zone=zone),
        overdue=parse_flag(args, "overdue"),
        exceptions=exceptions,
        query=parse_text(args, "q"),
    )


def parse_sort(args: Args, filters: OperationFilter, *, default: str) -> Sort:
    """Read the order of the list; deadline and amount order open work only, because history has no index for them."""
    name = parse_choice(args, "sort", SORTS) or default
    if name in OPEN_ONLY_SORTS and not filters.only_open:
        refuse("sort", "sort_open_only", name)
    return SORTS[name]
