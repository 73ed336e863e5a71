"""Figures of history: counters by day, and the triggers that note each change for them, whoever makes it.

A database that has operations already is counted by `dashboard rollup rebuild` or the worker; until then it is not
`built`.
"""

from collections.abc import Callable
from typing import NamedTuple

import sqlalchemy as sa
from alembic import op

from dashboard import ddl
from dashboard.db import CLOCKS, ExactText, LongText, UTCDateTime
from dashboard.models.operations import Bytes
from dashboard.models.record import INNODB, RowId

revision = "0034"
down_revision = "0033"

TERMINAL = "'compensated', 'confirmed', 'not_applicable'"
LISTED = "NEW.kind = 'probe' OR (NEW.kind = 'transition' AND NEW.to_state IN ('retry_scheduled', 'manual_review'))"


class Counted(NamedTuple):
    """What rows of a table are counted as; the functions give SQL about the row called OLD or NEW."""

    name: str
    table: str
    fact: Callable[[str], str]
    holds: Callable[[str], str]
    label: Callable[[str], str]
    at: str
    columns: tuple[str, ...]
    takes: Callable[[str], str] = lambda _row: "NULL"


def upgrade() -> None:
    _create_counters()
    _create_facts()
    _create_state()
    for counted in _counted():
        _follow(counted)
    ddl.follow_changes("rollup_events_insert", "operation_events", "INSERT", when=LISTED, statements=_events())
    ddl.follow_changes(
        "rollup_conflicts_insert", "idempotency_conflicts", "INSERT", when="NEW.id > 0", statements=[_conflict()]
    )


def downgrade() -> None:
    ddl.follow_no_more("rollup_conflicts_insert", "idempotency_conflicts")
    ddl.follow_no_more("rollup_events_insert", "operation_events")
    for counted in reversed(_counted()):
        for verb in ("delete", "update", "insert"):
            ddl.follow_no_more(f"rollup_{counted.name}_{verb}", counted.table)
    for table in ("rollup_state", "operation_facts", "rollup_histograms", "rollup_days", "rollup_deltas"):
        op.drop_table(table)


def _key() -> list[sa.Column[str]]:
    return [
        sa.Column("fact", ExactText(16), nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("tenant", ExactText(64), nullable=False),
        sa.Column("type", ExactText(64), nullable=False),
    ]


def _create_counters() -> None:
    op.create_table(
        "rollup_deltas",
        sa.Column("id", RowId, primary_key=True),
        *_key(),
        sa.Column("label", ExactText(64), nullable=False),
        sa.Column("amount", sa.SmallInteger, nullable=False),
        sa.Column("milliseconds", sa.BigInteger),
        **INNODB,
    )
    op.create_table(
        "rollup_days",
        sa.Column("id", RowId, primary_key=True),
        *_key(),
        sa.Column("label", ExactText(64), nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("fact", "day", "tenant", "type", "label", name="uq_rollup_days_fact"),
        **INNODB,
    )
    op.create_table(
        "rollup_histograms",
        sa.Column("id", RowId, primary_key=True),
        *_key(),
        sa.Column("buckets", Bytes, nullable=False),
        sa.UniqueConstraint("fact", "day", "tenant", "type", name="uq_rollup_histograms_fact"),
        **INNODB,
    )


def _create_facts() -> None:
    op.create_table(
        "operation_facts",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("fact", ExactText(16), nullable=False),
        sa.Column("label", ExactText(64), nullable=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.Column("operation_id", RowId),
        sa.Column("source_id", RowId, nullable=False),
        sa.Column("tenant", ExactText(64), nullable=False),
        sa.Column("type", ExactText(64), nullable=False),
        sa.UniqueConstraint("fact", "source_id", name="uq_operation_facts_source"),
        **INNODB,
    )
    op.create_index("ix_operation_facts_at", "operation_facts", ["fact", "at", "id"])
    for column in ("type", "tenant"):
        op.create_index(f"ix_operation_facts_{column}", "operation_facts", ["fact", column, "at", "id"])


def _create_state() -> None:
    op.create_table(
        "rollup_state",
        sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("built_at", UTCDateTime),
        sa.Column("folded_at", UTCDateTime),
        sa.Column("checked_at", UTCDateTime),
        sa.Column("drifts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("first_drift", LongText),
        **INNODB,
    )
    clock = CLOCKS[ddl.dialect()]
    filled = "EXISTS (SELECT 1 FROM operations) OR EXISTS (SELECT 1 FROM idempotency_conflicts)"
    op.execute(f"INSERT INTO rollup_state (id, built_at) SELECT 1, CASE WHEN NOT ({filled}) THEN {clock} END")


def _counted() -> list[Counted]:
    by_scope = ("created_at", "tenant", "type")
    return [
        Counted(
            "created", "operations", lambda _row: "'created'", lambda _row: "1 = 1", lambda _row: "''",
            at="created_at", columns=by_scope,
        ),
        Counted(
            "verdict", "operations", lambda _row: "'verdict'", lambda row: f"{row}.verdict IS NOT NULL",
            lambda row: f"{row}.verdict", at="created_at", columns=("verdict", *by_scope),
        ),
        Counted(
            "confirmed", "operations", lambda _row: "'confirmed'",
            lambda row: f"({row}.state = 'confirmed' AND {row}.confirmed_at IS NOT NULL)",
            lambda row: f"CASE WHEN {row}.confirmed_at <= {row}.deadline_at THEN 'in_time' ELSE 'late' END",
            at="confirmed_at", columns=("state", "confirmed_at", "deadline_at", *by_scope),
            takes=lambda row: ddl.milliseconds(f"{row}.created_at", f"{row}.confirmed_at"),
        ),
        Counted(
            "facts", "operation_facts", lambda row: f"{row}.fact", lambda _row: "1 = 1", lambda row: f"{row}.label",
            at="at", columns=("fact", "label", "at", "tenant", "type"),
        ),
    ]  # fmt: skip


def _follow(counted: Counted) -> None:
    """Take back what a row counted as before, and count what it is now."""
    new, old = _delta(counted, "NEW", 1), _delta(counted, "OLD", -1)
    name, holds = f"rollup_{counted.name}", counted.holds
    changed = " OR ".join(ddl.differs(column) for column in counted.columns)
    either = f"({holds('OLD')} OR {holds('NEW')}) AND ({changed})"
    ddl.follow_changes(f"{name}_insert", counted.table, "INSERT", when=holds("NEW"), statements=[new])
    ddl.follow_changes(
        f"{name}_update", counted.table, "UPDATE", when=either, statements=[old, new], columns=counted.columns
    )
    ddl.follow_changes(f"{name}_delete", counted.table, "DELETE", when=holds("OLD"), statements=[old])


def _delta(counted: Counted, row: str, amount: int) -> str:
    at = f"{row}.{counted.at}"
    values = {
        "fact": counted.fact(row),
        "label": counted.label(row),
        "day": ddl.utc_day(at),
        "tenant": f"{row}.tenant",
        "type": f"{row}.type",
        "amount": str(amount),
        "milliseconds": counted.takes(row),
    }
    return ddl.insert_where("rollup_deltas", values, f"{counted.holds(row)} AND {ddl.has_day(at)}")


def _events() -> list[str]:
    """One statement for each fact that an event can be; no event is two of them."""
    failed = ddl.json_text("NEW.evidence", "failed")
    retry = (
        "coalesce(NEW.cause, CASE WHEN NEW.actor_kind = 'reconciler' THEN 'absent' ELSE 'requeue' END)",
        "NEW.kind = 'transition' AND NEW.to_state = 'retry_scheduled'",
    )
    to_review = "NEW.kind = 'transition' AND NEW.to_state = 'manual_review'"
    by_person = "NEW.actor_kind IN ('user', 'api')"
    return [
        _event("retry", *retry),
        _event("probe_failed", f"substr({failed}, 1, 64)", f"NEW.kind = 'probe' AND {failed} IS NOT NULL"),
        _event(
            "contradicted",
            "''",
            f"{to_review} AND NEW.from_state = 'confirmed' AND NEW.actor_kind IN ('reconciler', 'worker', 'system')",
        ),
        _event("reopened", "NEW.from_state", f"{to_review} AND NEW.from_state IN ({TERMINAL}) AND {by_person}"),
    ]


def _event(fact: str, label: str, condition: str) -> str:
    return (
        "INSERT INTO operation_facts (fact, label, at, operation_id, source_id, tenant, type) "  # noqa: S608
        f"SELECT '{fact}', {label}, NEW.at, NEW.operation_id, NEW.id, operations.tenant, operations.type "
        f"FROM operations WHERE operations.id = NEW.operation_id AND {condition}"
    )


def _conflict() -> str:
    """The list that leads to the key is that of its record."""
    return (
        "INSERT INTO operation_facts (fact, label, at, operation_id, source_id, tenant, type) "
        "SELECT 'key_conflict', '', NEW.at, NULL, NEW.id, idempotency_records.tenant, idempotency_records.operation "
        "FROM idempotency_records WHERE idempotency_records.id = NEW.record_id"
    )
