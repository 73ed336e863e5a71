"""Why something is in review, and its age in windows of its type, as SQL conditions."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import Case, ColumnElement, and_, case, literal, not_, or_, true

from dashboard.db import UTCDateTime
from dashboard.domain.ages import WINDOW_BUCKETS, WindowBucket, Windows
from dashboard.domain.exceptions import BY_VERDICT, FINAL_CAUSES, Why
from dashboard.domain.states import State
from dashboard.models import Operation

_BUCKETS = {bucket.name: bucket for bucket in WINDOW_BUCKETS}
# No age of ours is longer; a bound further back would leave what a timestamp can say.
LONGEST = timedelta(days=36525)


def any_why(whys: Iterable[str]) -> ColumnElement[bool]:
    """A condition that holds for what is in review for one of these reasons, as `domain.exceptions` tells them."""
    in_review = Operation.state == State.MANUAL_REVIEW.value
    return and_(in_review, or_(*(_why(Why(why)) for why in sorted(whys))))


def any_window(names: Iterable[str], *, windows: Windows, now: datetime) -> ColumnElement[bool]:
    """A condition that holds for ages in one of these buckets of WINDOW_BUCKETS."""
    return or_(*(_within(_BUCKETS[name], windows=windows, now=now) for name in sorted(names)))


def window_bucket(*, windows: Windows, now: datetime) -> Case[str]:
    """The name of the bucket in which the age of a row lies."""
    bounds = [
        (_born_by(bucket.lower, windows=windows, now=now), bucket.name)
        for bucket in reversed(WINDOW_BUCKETS)
        if bucket.lower
    ]
    return case(*bounds, else_=WINDOW_BUCKETS[0].name)


def _why(why: Why) -> ColumnElement[bool]:
    told = [verdict.value for verdict, tells in BY_VERDICT.items() if tells is why]
    if told:
        return Operation.verdict.in_(told)
    silent = or_(Operation.verdict.is_(None), Operation.verdict.not_in([each.value for each in BY_VERDICT]))
    final = Operation.cause.in_([cause.value for cause in FINAL_CAUSES])
    # NOT of an unknown is unknown, so that what has no cause is asked for apart.
    return and_(silent, final if why is Why.PERMANENT else or_(Operation.cause.is_(None), not_(final)))


def _within(bucket: WindowBucket, *, windows: Windows, now: datetime) -> ColumnElement[bool]:
    since = _born_by(bucket.lower, windows=windows, now=now) if bucket.lower else true()
    if bucket.upper is None:
        return since
    return and_(since, not_(_born_by(bucket.upper, windows=windows, now=now)))


def _born_by(windows_ago: int, *, windows: Windows, now: datetime) -> ColumnElement[bool]:
    """Whether a row was created at least that many windows of its type ago."""
    types = defaultdict(list)
    for name, window in sorted(windows.by_type.items()):
        if window != windows.default:
            types[window].append(name)
    others = _bound(windows.default * windows_ago, now=now)
    if not types:
        return Operation.created_at <= others
    bounds = [(Operation.type.in_(names), _bound(window * windows_ago, now=now)) for window, names in types.items()]
    return Operation.created_at <= case(*bounds, else_=others)


def _bound(age: timedelta, *, now: datetime) -> ColumnElement[datetime]:
    return literal(now - min(age, LONGEST), UTCDateTime)
