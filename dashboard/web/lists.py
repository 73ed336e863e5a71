"""What the pages of lists share: their pages, the fields of their filter forms, and the filters in force.

A screen gives the words: `NAMES` by parameter, and a function from a parameter and its value to words.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from flask import request
from flask_babel import LazyString

from dashboard.edge.filters import Args, page_urls, parse_moment, url_with, url_without
from dashboard.queries.keyset import Page, Position
from dashboard.queries.totals import Total
from dashboard.web.formatting import moment_title, person_zone

Names = Mapping[str, LazyString]
Chip = tuple[str, str]


class Field(NamedTuple):
    """A parameter in a filter form: (value, word) pairs, and which of the values are chosen."""

    name: str
    label: LazyString
    options: list[tuple[str, str]]
    chosen: list[str]


class Look(NamedTuple):
    """An address that narrows a list to what is often looked for: how many rows, and whether the list is it now."""

    url: str
    words: str
    total: Total | None
    chosen: bool


def paged(page: Page, position: Position) -> dict[str, Any]:
    """Give what a template needs to show a page of a list and lead to those around it."""
    return {"page": page, "urls": page_urls(page), "first_url": url_with(), "limit": position.limit}


def field(name: str, options: Iterable[str], *, names: Names, word: Callable[[str, str], str]) -> Field:
    """Offer these values of a parameter, and those that the address has besides."""
    chosen = [value for value in request.args.getlist(name) if value]
    every = dict.fromkeys((*(str(option) for option in options), *chosen))
    return Field(name, names[name], [(value, word(name, value)) for value in every], chosen)


def chips(
    args: Args,
    *,
    names: Names,
    word: Callable[[str, str], str | None],
    without: Callable[[str, str], str] = url_without,
) -> list[Chip]:
    """Give each filter in force in words, with the address of the list without it.

    `word` answers "" where the name says it all, and None where the value asks for nothing.
    """
    told = [(name, value, word(name, value)) for name in names for value in _given(args, name)]
    return [
        (f"{names[name]}: {words}" if words else str(names[name]), without(name, value))
        for name, value, words in told
        if words is not None
    ]


def flag_word(value: str) -> str | None:
    """Give the words of a flag beside its name: none where it is set."""
    return "" if value == "1" else None


def moment_word(name: str) -> str:
    """Give the time that a parameter names, in the person's zone."""
    at = parse_moment(request.args, name, zone=person_zone())
    return moment_title(at) if at else ""


def _given(args: Args, name: str) -> list[str]:
    return list(dict.fromkeys(value for value in args.getlist(name) if value.strip()))
