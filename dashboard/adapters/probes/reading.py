"""Reading what a destination answered by the expressions of a policy; the same for every kind of probe."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from dashboard.adapters.expressions import ExpressionError, find, holds
from dashboard.domain.answers import Answer, Question, failure
from dashboard.domain.policy import ProbeRule

MAX_CANDIDATES = 100
MAX_REMOTE_ID = 128
# Seconds since 1970 are below this until the year 5138; milliseconds are above it since 1973.
MILLISECONDS_FROM = 100_000_000_000


def read_answer(
    rule: ProbeRule,
    question: Question,
    document: object,
    *,
    viewed_at: datetime,
    raw_hash: str | None = None,
    status: int | None = None,
    remote_ahead: timedelta = timedelta(0),
) -> Answer:
    """Read candidates, ids and flags out of the document, or say why that cannot be done.

    `viewed_at` counts as the time of the view where the policy names none. `remote_ahead` is by how much the
    destination's clock runs before ours.
    """
    settings = rule.settings
    try:
        candidates = _candidates(document, _text(settings.get("items")))
        if candidates is None:
            return failure("not_candidates", "The answer has no list of objects where the policy looks.", status=status)
        candidates = _ours(candidates, _text(settings.get("match")), question)
        return Answer(
            candidates=candidates[:MAX_CANDIDATES],
            as_of=_as_of(_text(settings.get("as_of")), document, question, viewed_at, remote_ahead),
            partial=holds(_text(settings.get("partial")), document) or len(candidates) > MAX_CANDIDATES,
            cancelled=_all_hold(_text(settings.get("cancelled")), candidates),
            superseded=_all_hold(_text(settings.get("superseded")), candidates),
            authoritative=settings.get("authoritative") is not False,
            raw_hash=raw_hash,
            status=status,
            remote_id=_remote_id(_text(settings.get("remote_id")), candidates),
        )
    except ExpressionError as error:
        return failure("expression_failed", str(error), status=status)


def read_moment(value: object) -> datetime | None:
    """A time as destinations write it: ISO 8601 with a zone, or seconds or milliseconds since 1970; else None."""
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            return read.astimezone(UTC) if read.tzinfo else None
        if isinstance(value, bool) or value is None:
            return None
        seconds = float(str(value))
        return datetime.fromtimestamp(seconds / 1000 if seconds > MILLISECONDS_FROM else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _candidates(document: object, items: str | None) -> tuple[Mapping[str, object], ...] | None:
    found = find(items, document) if items else document
    if isinstance(found, Mapping):
        return (found,)
    if not isinstance(found, Sequence) or isinstance(found, str) or not all(isinstance(one, Mapping) for one in found):
        return None
    return tuple(found)


def _ours(
    candidates: tuple[Mapping[str, object], ...], match: str | None, question: Question
) -> tuple[Mapping[str, object], ...]:
    """Those that name our operation, where the destination lists others as well."""
    if match is None:
        return candidates
    return tuple(one for one in candidates if find(match, one) == question.operation_id)


def _as_of(
    expression: str | None, document: object, question: Question, viewed_at: datetime, remote_ahead: timedelta
) -> datetime | None:
    """When the view was true by our clock; a time of theirs is never taken for newer than our own now."""
    if expression is None:
        return min(viewed_at, question.now)
    named = read_moment(find(expression, document))
    return None if named is None else min(named - remote_ahead, question.now)


def _all_hold(expression: str | None, candidates: Sequence[Mapping[str, object]]) -> bool:
    return bool(candidates) and all(holds(expression, candidate) for candidate in candidates)


def _remote_id(expression: str | None, candidates: Sequence[Mapping[str, object]]) -> str | None:
    if expression is None or len(candidates) != 1:
        return None
    found = find(expression, candidates[0])
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    text = str(found)
    storable = text.isprintable() and 0 < len(text) <= MAX_REMOTE_ID
    return text if storable else None
