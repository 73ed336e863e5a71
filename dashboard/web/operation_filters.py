"""The filter of the lists of operations: from a query string to what the queries take, and back to addresses."""

from collections.abc import Mapping
from typing import Any

from flask import request, url_for
from flask_babel import LazyString

from dashboard.domain.ages import AgeBucket
from dashboard.domain.text import visible
from dashboard.edge.filters import (
    ME,
    Args,
    parse_age,
    url_without,
    written_age,
)
from dashboard.queries.operations import NONE, UNASSIGNED
from dashboard.web import lists
from dashboard.web.formatting import duration
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext

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
    "confirmed_to": lazy_gettext("Confirmed before"),
    "overdue": lazy_gettext("Overdue"),
    "currency": lazy_gettext("Currency"),
    "why": lazy_gettext("Why in review"),
    "age_windows": lazy_gettext("Age in windows"),
}


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
    if name in {"verdict", "cause", "currency"} and value == NONE:
        return gettext("None")
    return label(name, value) if name in {"state", "verdict", "cause", "why", "age_windows"} else visible(value)


def _chip_word(name: str, value: str) -> str | None:
    if name == "overdue":
        return lists.flag_word(value)
    if name in {"min_age", "max_age"}:
        return duration(parse_age(request.args, name))
    if name in {"created_from", "created_to", "confirmed_from", "confirmed_to"}:
        return lists.moment_word(name)
    return word_of(name, value)


def _url_without(name: str, value: str, *, exceptions: bool) -> str:
    if exceptions or name not in {"state", "overdue"}:
        return url_without(name, value)
    # What remains may hold history, which has not every order: the link must not lead to a refusal.
    return url_without(name, value, sort=None)
