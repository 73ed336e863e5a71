"""Finding operations by what people paste: an operation id, key, remote id, entity or correlation id.

Each identity column has one index; a search is a UNION of limited look-ups in them, never an OR (performance rule 6).
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, CompoundSelect, and_, select, union
from sqlalchemy.orm import InstrumentedAttribute, Session

from dashboard.domain.permissions import Scope
from dashboard.domain.text import TextError, check_text
from dashboard.models import IdempotencyRecord, Operation
from dashboard.queries.scoping import in_scope

LIMIT = 200
LAST_CHARACTER = "\U0010ffff"
COLUMNS: tuple[InstrumentedAttribute[str | None] | InstrumentedAttribute[str], ...] = (
    Operation.operation_id,
    Operation.idempotency_key,
    Operation.remote_id,
    Operation.entity_id,
    Operation.correlation_id,
)


def matching(query: str, *, scopes: Sequence[Scope]) -> CompoundSelect[int]:
    """Row numbers of operations with an identity that begins with `query`, at most 200 from each column."""
    visible = in_scope(scopes)
    branches = [
        select(Operation.id).where(_begins_with(column, query), visible).limit(LIMIT).subquery() for column in COLUMNS
    ]
    branches += [
        select(Operation.id).where(condition, visible).limit(LIMIT).subquery() for condition in _named_entity(query)
    ]
    return union(*(select(branch.c.id) for branch in branches))


def landing(session: Session, query: str, *, scopes: Sequence[Scope]) -> Sequence[str]:
    """The operation ids that `query` names exactly, at most two: one is a place to land on."""
    visible = in_scope(scopes)
    conditions = [column == query for column in COLUMNS] + _named_entity(query)
    branches = [
        select(Operation.operation_id).where(condition, visible).limit(2).subquery() for condition in conditions
    ]
    found = union(*(select(branch.c.operation_id) for branch in branches)).limit(2)
    return list(session.scalars(found)) if _searchable(query) else []


def landing_record(session: Session, query: str, *, scopes: Sequence[Scope]) -> int | None:
    """The number of the one idempotency record with exactly this key, or None."""
    if not _searchable(query):
        return None
    record = IdempotencyRecord
    visible = in_scope(scopes, tenant=record.tenant, type=record.operation)
    found = session.scalars(select(record.id).where(record.key == query, visible).limit(2)).all()
    return found[0] if len(found) == 1 else None


def _searchable(query: str) -> bool:
    try:
        return bool(check_text(query)) and len(query) <= min(column.type.length for column in COLUMNS)
    except TextError:
        return False


def _begins_with(
    column: InstrumentedAttribute[str | None] | InstrumentedAttribute[str], prefix: str
) -> ColumnElement[bool]:
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
    if not identity.strip():
        return []
    return [and_(Operation.entity_id == identity.strip(), Operation.entity_type == kind.lower())]
