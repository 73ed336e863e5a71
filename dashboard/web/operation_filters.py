"""The filter of the lists of operations: from a query string to what the queries take, and back to addresses."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from flask import request, url_for
from flask_babel import LazyString, gettext, lazy_gettext

from dashboard.domain.ages import AgeBucket
from dashboard.domain.states import OPEN, Cause, State
from dashboard.domain.text import visible
from dashboard.domain.verdicts import Verdict
from dashboard.queries.keyset import Sort
from dashboard.queries.operations import NONE, OPEN_ONLY_SORTS, SORTS, UNASSIGNED, OperationFilter
from dashboard.web import lists
from dashboard.web.filters import (
    ME,
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
    url_without,
    written_age,
)
from dashboard.web.formatting import duration
from dashboard.web.labels import label

OPEN_STATES = tuple(state.value for state in State if state in OPEN)
VERDICTS = tuple(verdict.value for verdict in Verdict)
CAUSES = tuple(cause.value for cause in Cause)
LONGEST_NAME = 64

NAMES: Mapping[str, LazyString] = {
    "q": lazy_gettext("Id begins with"),
    "state": lazy_gettext("State"),
    "type": lazy_gettext("Type"),
    "tenant": lazy_gettext("Tenant"),
    "destination": lazy_gettext("Destination"),
    "verdict": lazy_gettext("Verdict"),
    "cause": lazy_gettext("Cause"),
    "assigned": lazy_gettext("Assigned to"),
    "min_age": lazy_gettext("At least this old"),
    "max_age": lazy_gettext("Younger than"),
    "created_from": lazy_gettext("Created from"),
    "created_to": lazy_gettext("Created before"),
    "confirmed_from": lazy_gettext("Confirmed from"),
    "overdue": lazy_gettext("Overdue"),
}


def parse_filter(args: Args, *, me: str, zone: ZoneInfo, exceptions: bool = False) -> OperationFilter:
    """Read what the list is narrowed to; `assigned=me` becomes the person's own e-mail."""
    return OperationFilter(
        states=frozenset(State(value) for value in parse_choice_set(args, "state", State)),
        types=parse_text_set(args, "type", maximum=LONGEST_NAME),
        tenants=parse_text_set(args, "tenant", maximum=LONGEST_NAME),
        destinations=parse_text_set(args, "destination", maximum=LONGEST_NAME),
        verdicts=parse_choice_set(args, "verdict", (*VERDICTS, NONE)),
        causes=parse_choice_set(args, "cause", (*CAUSES, NONE)),
        assigned_to=parse_person(args, "assigned", me=me),
        min_age=parse_age(args, "min_age"),
        max_age=parse_age(args, "max_age"),
        created_from=parse_moment(args, "created_from", zone=zone),
        created_to=parse_moment(args, "created_to", zone=zone),
        confirmed_from=parse_moment(args, "confirmed_from", zone=zone),
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


def chips(args: Args, *, exceptions: bool) -> list[tuple[str, str]]:
    """Give each filter in force in words, with the address of the list without it."""
    return lists.chips(
        args, names=NAMES, word=_chip_word, without=lambda name, value: _url_without(name, value, exceptions=exceptions)
    )


def listed(**parameters: Any) -> str:
    """Give the address of the operations with these parameters; a list repeats one, None leaves it out."""
    return url_for("operation_lists.operations", **parameters)


def of_age(bucket: AgeBucket) -> dict[str, str]:
    """Give the parameters that list exactly the operations of an age bucket."""
    lower = {"min_age": written_age(bucket.lower)} if bucket.lower else {}
    return lower | ({"max_age": written_age(bucket.upper)} if bucket.upper else {})


def word_of(name: str, value: str) -> str:
    """Give a filter's value in words."""
    if name == "assigned":
        return str({ME: gettext("me"), UNASSIGNED: gettext("nobody")}.get(value, visible(value)))
    if name in {"verdict", "cause"} and value == NONE:
        return str(gettext("None"))
    return label(name, value) if name in {"state", "verdict", "cause"} else visible(value)


def _chip_word(name: str, value: str) -> str | None:
    if name == "overdue":
        return lists.flag_word(value)
    if name in {"min_age", "max_age"}:
        return duration(parse_age(request.args, name))
    if name in {"created_from", "created_to", "confirmed_from"}:
        return lists.moment_word(name)
    return word_of(name, value)


def _url_without(name: str, value: str, *, exceptions: bool) -> str:
    if exceptions or name not in {"state", "overdue"}:
        return url_without(name, value)
    # What remains may hold history, which has not every order: the link must not lead to a refusal.
    return url_without(name, value, sort=None)
