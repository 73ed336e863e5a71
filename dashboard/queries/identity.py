"""Finding operations by what people paste: an operation id, key, remote id, entity or correlation id.

Each identity column has one index; a search is a UNION of limited look-ups in them, never an OR (performance rule 6).
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, CompoundSelect, Subquery, and_, false, select, union
from sqlalchemy.orm import InstrumentedAttribute, Session

from dashboard.domain.permissions import Scope
from dashboard.domain.text import TextError, check_text
from dashboard.models import IdempotencyRecord, Operation
from dashboard.queries.scoping import in_scope, narrowing

LIMIT = 200
LAST_CHARACTER = "\U0010ffff"
Identity = InstrumentedAttribute[str] | InstrumentedAttribute[str | None]
COLUMNS: tuple[Identity, ...] = (
    Operation.operation_id,
    Operation.idempotency_key,
    Operation.remote_id,
    Operation.entity_id,
    Operation.correlation_id,
)


def matching(query: str, *, within: Sequence[ColumnElement[bool]]) -> CompoundSelect[int]:
    """Row numbers of operations with an identity that begins with `query`, at most 200 from each column.

    `within` is the rest of the list's filter: applied here, so that the 200 are rows of the list.
    """
    branches = [
        _first(column, _begins_with(column, query), within=within) for column in COLUMNS if _fits(column, query)
    ]
    branches += [_first(Operation.entity_id, condition, within=within) for condition in _named_entity(query)]
    # A text longer than every identity begins none.
    branches = branches or [_first(Operation.entity_id, false(), within=within)]
    return union(*(select(branch.c.id) for branch in branches))


def landing(session: Session, query: str, *, scopes: Sequence[Scope]) -> Sequence[str]:
    """The operation ids that `query` names exactly, at most two: one is a place to land on.

    An operation's own id goes first: hosts use it as the correlation id of what follows from it.
    """
    conditions = [column == query for column in COLUMNS if _fits(column, query)] + _named_entity(query)
    visible = in_scope(scopes, tenant=narrowing(Operation.tenant), type=narrowing(Operation.type))
    branches = [
        select(Operation.operation_id).where(condition, visible).limit(2).subquery() for condition in conditions
    ]
    if not branches or not _storable(query):
        return []
    found = session.scalars(union(*(select(branch.c.operation_id) for branch in branches))).all()
    return [query] if query in found else found[:2]


def landing_record(session: Session, query: str, *, scopes: Sequence[Scope]) -> int | None:
    """The number of the one idempotency record with exactly this key, or None."""
    record = IdempotencyRecord
    if not _storable(query) or not _fits(record.key, query):
        return None
    visible = in_scope(scopes, tenant=narrowing(record.tenant), type=narrowing(record.operation))
    found = session.scalars(select(record.id).where(record.key == query, visible).limit(2)).all()
    return found[0] if len(found) == 1 else None


def _first(column: Identity, condition: ColumnElement[bool], *, within: Sequence[ColumnElement[bool]]) -> Subquery:
    # Ordered, so that every page of the list is cut out of the same rows.
    return select(Operation.id).where(condition, *within).order_by(column, Operation.id).limit(LIMIT).subquery()


def _storable(query: str) -> bool:
    try:
        return bool(check_text(query))
    except TextError:
        return False


def _fits(column: Identity, query: str) -> bool:
    longest: int = column.type.length
    return len(query) <= longest


def _begins_with(column: Identity, prefix: str) -> ColumnElement[bool]:
    end = _after_all_with(prefix)
    return and_(column >= prefix, column < end) if end else column >= prefix


def _after_all_with(prefix: str) -> str:
    """The first text behind all that begin with `prefix`; empty where there is none."""
    kept = prefix.rstrip(LAST_CHARACTER)
    if not kept:
        return ""
    following = ord(kept[-1]) + 1
    # Surrogates are no characters: behind U+D7FF comes U+E000.
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)  # noqa: PLR2004 - Unicode's own numbers


def _named_entity(query: str) -> list[ColumnElement[bool]]:
    """People say "order 452": an entity's type and id."""
    kind, _, identity = query.partition(" ")
    identity = identity.strip()
    if not kind or not identity or not _fits(Operation.entity_type, kind) or not _fits(Operation.entity_id, identity):
        return []
    return [and_(Operation.entity_id == identity, Operation.entity_type.in_({kind, kind.lower()}))]
