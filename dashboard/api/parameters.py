"""The parameters of lists, as the query string takes them and the document describes them."""

from collections.abc import Iterable

from dashboard.api.describing import Parameter
from dashboard.domain.states import Cause, State
from dashboard.domain.verdicts import Verdict
from dashboard.edge.filters import MAX_TEXT
from dashboard.edge.operation_filters import AGE_WINDOWS, LONGEST_CURRENCY, LONGEST_NAME, WHYS
from dashboard.queries.keyset import DEFAULT_LIMIT, MAX_LIMIT
from dashboard.queries.operations import NONE, SORTS

AGES = {"type": "string", "pattern": "^[0-9]{1,8}[smhd]?$"}
# Of the years 1900 to 9998.
MOMENT = {"type": "string", "format": "date-time"}
FLAG = {"type": "string", "enum": ["0", "1"]}


def choice(values: Iterable[str]) -> dict[str, object]:
    """The schema of one of these values."""
    return {"type": "string", "enum": sorted(str(value) for value in values)}


def text(maximum: int) -> dict[str, object]:
    """The schema of text that is not only blanks."""
    return {"type": "string", "minLength": 1, "maxLength": maximum}


CURSOR = {"type": "string", "format": "cursor", "minLength": 1, "maxLength": 4096}
PAGE = (
    Parameter("after", CURSOR, "The page behind this row: taken from `next`."),
    Parameter("before", CURSOR, "The page ahead of this row: taken from `previous`."),
    Parameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "How many rows a page has.",
    ),
)
_NAME = text(LONGEST_NAME)
OPERATIONS = (
    Parameter("state", choice(State), repeated=True),
    Parameter("type", _NAME, repeated=True),
    Parameter("destination", _NAME, repeated=True),
    Parameter("verdict", choice((*Verdict, NONE)), repeated=True),
    Parameter("cause", choice((*Cause, NONE)), repeated=True),
    Parameter("currency", text(LONGEST_CURRENCY), "Three letters, or `none`.", repeated=True),
    Parameter("why", choice(WHYS), "Why it is in review.", repeated=True),
    Parameter("age_windows", choice(AGE_WINDOWS), "Its age in windows of the policy of its type.", repeated=True),
    Parameter("assigned", text(254), "An e-mail, or `nobody`."),
    Parameter("min_age", AGES, "Created at least so long ago: 90s, 15m, 2h, 3d."),
    Parameter("max_age", AGES, "Created less long ago than this."),
    Parameter("created_from", MOMENT),
    Parameter("created_to", MOMENT),
    Parameter("confirmed_from", MOMENT),
    Parameter("confirmed_to", MOMENT),
    Parameter("overdue", FLAG, "1: only open operations past their deadline."),
    Parameter("exceptions", FLAG, "1: only what needs a person: in review, or overdue."),
    Parameter("q", text(MAX_TEXT), "An id begins with this: operation, key, remote id, entity, correlation."),
    Parameter("sort", choice(SORTS), "`worst` and `amount` sort open work only."),
    *PAGE,
)
