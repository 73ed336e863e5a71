"""Plans: one decision about many operations, frozen when it is made."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, Integer, SmallInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB, Record, RowId


class BulkPlan(Record):
    """An action on many operations: who asks for it on what evidence, and how far it got.

    `tenant` and `type` are those that all its rows share, NULL where they differ. Nothing runs beyond `canary` rows
    before somebody says go on (`canary_passed`), and no faster than `rate` rows a minute. A plan that needs approval
    needs `needed` votes for exactly `binding`, as a proposed action does. The next rows are due at `next_at`.
    """

    __tablename__ = "bulk_plans"
    __table_args__ = (
        UniqueConstraint("requested_by", "idempotency_key"),
        Index("ix_bulk_plans_state_next_at", "state", "next_at"),
        INNODB,
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    action: Mapped[str] = mapped_column(ExactText(16))
    state: Mapped[str] = mapped_column(ExactText(16))
    tenant: Mapped[str | None] = mapped_column(ExactText(64))
    type: Mapped[str | None] = mapped_column(ExactText(64))
    idempotency_key: Mapped[str] = mapped_column(ExactText(128))
    reason_code: Mapped[str | None] = mapped_column(ExactText(32))
    note: Mapped[str | None] = mapped_column(LongText)
    reference: Mapped[str | None] = mapped_column(LongText)
    total: Mapped[int] = mapped_column(Integer)
    eligible: Mapped[int] = mapped_column(Integer)
    canary: Mapped[int | None] = mapped_column(Integer)
    canary_passed: Mapped[int] = mapped_column(SmallInteger, default=0, server_default="0")
    rate: Mapped[int | None] = mapped_column(Integer)
    needed: Mapped[int] = mapped_column(SmallInteger, default=0, server_default="0")
    special: Mapped[str] = mapped_column(ExactText(64), default="", server_default="")
    binding: Mapped[str | None] = mapped_column(ExactText(64))
    policy_hash: Mapped[str | None] = mapped_column(ExactText(64))
    requested_by: Mapped[str] = mapped_column(ExactText(254))
    requested_kind: Mapped[str] = mapped_column(ExactText(16))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    asked_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    started_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    next_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    ended_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    because: Mapped[str | None] = mapped_column(ExactText(32))
    notified_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class BulkGroup(Record):
    """Rows of a plan that are alike, and their exact total: what a person looks at before deciding about thousands.

    `refusal` says why they are not eligible, NULL where they are. `amount` is NULL where none of them has one.
    """

    __tablename__ = "bulk_groups"
    __table_args__ = (Index("ix_bulk_groups_plan_id", "plan_id"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    plan_id: Mapped[int] = mapped_column(ForeignKey("bulk_plans.id"))
    tenant: Mapped[str] = mapped_column(ExactText(64))
    type: Mapped[str] = mapped_column(ExactText(64))
    destination: Mapped[str] = mapped_column(ExactText(64))
    state: Mapped[str] = mapped_column(ExactText(32))
    target: Mapped[str | None] = mapped_column(ExactText(32))
    refusal: Mapped[str | None] = mapped_column(ExactText(64))
    risk: Mapped[str] = mapped_column(ExactText(8))
    currency: Mapped[str | None] = mapped_column(ExactText(3))
    size: Mapped[int] = mapped_column(Integer)
    amount: Mapped[str | None] = mapped_column(ExactText(64))


class BulkRow(Record):
    """One operation in a plan, at the revision that was reviewed, and what became of it.

    `operation_id` is the row's number. `code` says why it is not eligible, was skipped or failed; `changed_by` who
    changed it since the review. `amount` and `currency` are as they were then.
    """

    __tablename__ = "bulk_rows"
    __table_args__ = (
        UniqueConstraint("plan_id", "operation_id"),
        Index("ix_bulk_rows_plan_id_outcome_id", "plan_id", "outcome", "id"),
        Index("ix_bulk_rows_operation_id", "operation_id"),
        Index("ix_bulk_rows_action_id", "action_id"),
        INNODB,
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    plan_id: Mapped[int] = mapped_column(ForeignKey("bulk_plans.id"))
    operation_id: Mapped[int] = mapped_column(ForeignKey("operations.id"))
    revision: Mapped[int] = mapped_column(Integer)
    outcome: Mapped[str] = mapped_column(ExactText(16))
    code: Mapped[str | None] = mapped_column(ExactText(64))
    amount: Mapped[str | None] = mapped_column(ExactText(32))
    currency: Mapped[str | None] = mapped_column(ExactText(3))
    action_id: Mapped[int | None] = mapped_column(ForeignKey("actions.id"))
    changed_by: Mapped[str | None] = mapped_column(ExactText(254))
    settled_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class BulkVote(Record):
    """What one person decided about a plan, and the exact `binding` they decided about."""

    __tablename__ = "bulk_votes"
    __table_args__ = (UniqueConstraint("plan_id", "voter"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    plan_id: Mapped[int] = mapped_column(ForeignKey("bulk_plans.id"))
    voter: Mapped[str] = mapped_column(ExactText(254))
    voter_kind: Mapped[str] = mapped_column(ExactText(16))
    vote: Mapped[str] = mapped_column(ExactText(16))
    note: Mapped[str | None] = mapped_column(LongText)
    binding: Mapped[str] = mapped_column(ExactText(64))
    idempotency_key: Mapped[str] = mapped_column(ExactText(128))
    at: Mapped[datetime] = mapped_column(UTCDateTime)
