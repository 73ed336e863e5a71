"""Which pages are measured: each with the address that a person opens, found from what the database holds."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.bench import shop
from dashboard.db import Database, reading
from dashboard.models import Action, IdempotencyRecord, Operation, OutboxMessage, ReconciliationRun
from dashboard.queries import keyset
from dashboard.queries.operations import SORTS

DEEP = 0.37
FIGURES, LIST, ONE, SEARCH = "figures", "list", "one", "search"


@dataclass(frozen=True)
class Page:
    """A page to measure: its name in the table, its address, and which target it is held to."""

    name: str
    address: str
    kind: str = LIST


class _Place(NamedTuple):
    """A row as a cursor is made of it."""

    key: datetime
    number: int


def pages_of(database: Database, app: Flask) -> Iterator[Page]:
    """Every page, with the addresses that this database has; what the product has not got is left out."""
    with reading(database) as session:
        yield Page("overview", "/", FIGURES)
        yield Page("trends, 30 days", "/trends?days=30", FIGURES)
        yield Page("trends, one type", _at("/trends", days=30, type=shop.COMMON_TYPE), FIGURES)
        yield from _queue()
        yield from _history(session)
        yield from _single(session)
        yield from _others(session)
    for name, address, kind in _later(app):
        yield Page(name, address, kind)


def _queue() -> Iterator[Page]:
    yield Page("exceptions, first page", "/exceptions")
    yield Page("exceptions, largest amount", "/exceptions?sort=amount")
    yield Page("exceptions, type and verdict", _at("/exceptions", type=shop.COMMON_TYPE, verdict="absent"))
    yield Page("exceptions, rare tenant", _at("/exceptions", tenant=shop.RARE_TENANT))


def _history(session: Session) -> Iterator[Page]:
    yield Page("operations, first page", "/operations")
    yield Page("operations, next page deep inside", _deep(session))
    for name, asked in (
        ("state awaiting", {"state": "awaiting_confirmation"}),
        ("state confirmed", {"state": "confirmed"}),
        ("common type", {"type": shop.COMMON_TYPE}),
        ("common tenant and type", {"tenant": shop.COMMON_TENANT, "type": shop.COMMON_TYPE}),
        ("rare tenant", {"tenant": shop.RARE_TENANT}),
        ("rare type", {"type": shop.RARE_TYPE}),
        ("rare tenant and common type", {"tenant": shop.RARE_TENANT, "type": shop.COMMON_TYPE}),
        ("verdict divergent", {"verdict": "divergent"}),
    ):
        yield Page(f"operations, {name}", _at("/operations", **asked))


def _single(session: Session) -> Iterator[Page]:
    row = _middle(session)
    waiting = session.execute(
        select(Operation.operation_id).where(Operation.is_open == 1, Operation.state == "manual_review").limit(1)
    ).scalar()
    yield Page("search by id, to the operation", _at("/search", q=row.operation_id), SEARCH)
    yield Page("search by id, as a list", _at("/operations", q=row.operation_id), SEARCH)
    yield Page("search by key", _at("/operations", q=row.idempotency_key), SEARCH)
    yield Page("search by remote id", _at("/operations", q=row.remote_id or "none"), SEARCH)
    yield Page("search by beginning", _at("/operations", q=row.operation_id[:-6]), SEARCH)
    yield Page("operation, ended", f"/operations/{row.operation_id}", ONE)
    if waiting:
        yield Page("operation, in review", f"/operations/{waiting}", ONE)
    yield Page("one event", f"/operations/{row.operation_id}/events/2", ONE)


def _others(session: Session) -> Iterator[Page]:
    yield Page("facts: retries", "/facts?fact=retry")
    yield Page("facts: retries of a type", _at("/facts", fact="retry", type=shop.COMMON_TYPE))
    yield Page("actions", "/actions")
    yield Page("actions to verify", "/actions?outcome=to_verify")
    yield from _one(session.scalar(select(Action.id).order_by(Action.id.desc())), "action", "/actions")
    yield Page("idempotency", "/idempotency")
    yield Page("idempotency, conflicts", "/idempotency?conflicts=1")
    record = select(IdempotencyRecord.id).order_by(IdempotencyRecord.id.desc())
    yield from _one(session.scalar(record), "idempotency record", "/idempotency")
    yield Page("outbox", "/outbox")
    yield Page("outbox, dead", "/outbox?state=dead")
    message = select(OutboxMessage.message_id).order_by(OutboxMessage.id.desc())
    yield from _one(session.scalar(message), "outbox message", "/outbox")
    yield Page("reconciliation", "/reconciliation")
    run = select(ReconciliationRun.id).order_by(ReconciliationRun.id.desc())
    yield from _one(session.scalar(run), "reconciliation run", "/reconciliation")
    yield Page("evidence", "/evidence")
    yield Page("policies", "/policies")
    yield Page("one policy", f"/policies/{shop.COMMON_TYPE}", ONE)
    yield Page("audit", "/audit")
    yield Page("audit, one person", _at("/audit", actor="support@bench.example"))
    yield Page("audit, refused", "/audit?outcome=refused")
    yield Page("audit entry", "/audit/2", ONE)
    yield Page("report of a month", "/reports", FIGURES)


def _one(found: object, name: str, folder: str) -> Iterator[Page]:
    if found is not None:
        yield Page(name, f"{folder}/{found}", ONE)


def _later(app: Flask) -> Iterator[tuple[str, str, str]]:
    rules = {rule.rule for rule in app.url_map.iter_rules()}
    if "/types" in rules:
        yield "types", "/types", FIGURES
        yield "one type", f"/types/{shop.COMMON_TYPE}", FIGURES
    if "/alerts" in rules:
        yield "alerts", "/alerts", LIST


def _middle(session: Session) -> Operation:
    """An operation deep inside."""
    last = session.scalar(select(Operation.id).order_by(Operation.id.desc()).limit(1)) or 1
    found = select(Operation).where(Operation.id >= int(last * DEEP), Operation.state == "confirmed")
    return session.scalars(found.order_by(Operation.id).limit(1)).one()


def _deep(session: Session) -> str:
    row = _middle(session)
    return _at("/operations", after=keyset.encode(SORTS["newest"], _Place(row.created_at, row.id)))


def _at(path: str, **asked: object) -> str:
    return f"{path}?{urlencode(asked)}"
