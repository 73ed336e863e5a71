"""Actions: repairs that people asked for."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Integer, SmallInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, JSONColumn, LongText, UTCDateTime
from dashboard.models.record import INNODB, Record, RowId


class Action(Record):
    """A repair, who asked for it on what evidence, and what became of it.

    `operation_id` is the row's number. `revision` is the one the person saw. `amount` is the part that a compensation
    gives back, NULL for all of it. A proposal needs `needed` approvals of exactly `binding`, among them people with the
    permissions of `special` (blank between), before `expires_at`; `ended_because` says why it was not executed.
    `outcome` is `to_verify` while nobody has proven yet that the repair had its effect.
    """

    __tablename__ = "actions"
    __table_args__ = (UniqueConstraint("requested_by", "idempotency_key"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    operation_id: Mapped[int] = mapped_column(ForeignKey("operations.id"), index=True)
    tenant: Mapped[str] = mapped_column(ExactText(64))
    type: Mapped[str] = mapped_column(ExactText(64))
    action: Mapped[str] = mapped_column(ExactText(16))
    state: Mapped[str] = mapped_column(ExactText(16))
    outcome: Mapped[str | None] = mapped_column(ExactText(16))
    idempotency_key: Mapped[str] = mapped_column(ExactText(128))
    revision: Mapped[int] = mapped_column(Integer)
    reason_code: Mapped[str] = mapped_column(ExactText(32))
    note: Mapped[str] = mapped_column(LongText)
    reference: Mapped[str | None] = mapped_column(LongText)
    risk: Mapped[str] = mapped_column(ExactText(8))
    snapshot: Mapped[dict[str, Any]] = mapped_column(JSONColumn)
    policy_hash: Mapped[str | None] = mapped_column(ExactText(64))
    child_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"), index=True)
    requested_by: Mapped[str] = mapped_column(ExactText(254))
    requested_at: Mapped[datetime] = mapped_column(UTCDateTime)
    executed_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    amount: Mapped[str | None] = mapped_column(ExactText(32))
    needed: Mapped[int] = mapped_column(SmallInteger, default=0, server_default="0")
    special: Mapped[str] = mapped_column(ExactText(64), default="", server_default="")
    binding: Mapped[str | None] = mapped_column(ExactText(64))
    expires_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    ended_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    ended_because: Mapped[str | None] = mapped_column(ExactText(32))
    verified_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    notified_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class Approval(Record):
    """What one person decided about a proposed action, and the exact `binding` they decided about."""

    __tablename__ = "approvals"
    __table_args__ = (UniqueConstraint("action_id", "voter"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    action_id: Mapped[int] = mapped_column(ForeignKey("actions.id"))
    voter: Mapped[str] = mapped_column(ExactText(254))
    voter_kind: Mapped[str] = mapped_column(ExactText(16))
    vote: Mapped[str] = mapped_column(ExactText(16))
    note: Mapped[str | None] = mapped_column(LongText)
    binding: Mapped[str] = mapped_column(ExactText(64))
    idempotency_key: Mapped[str] = mapped_column(ExactText(128))
    at: Mapped[datetime] = mapped_column(UTCDateTime)
