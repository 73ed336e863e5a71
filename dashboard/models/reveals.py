"""Reveals of masked fields."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB, Record, RowId


class Reveal(Record):
    """Who may see a masked field of an operation (its row's number) until `ends_at`, and why; never its value."""

    __tablename__ = "reveals"
    __table_args__ = (UniqueConstraint("revealed_to", "idempotency_key"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    operation_id: Mapped[int] = mapped_column(ForeignKey("operations.id"))
    field: Mapped[str] = mapped_column(ExactText(254))
    revealed_to: Mapped[str] = mapped_column(ExactText(254))
    idempotency_key: Mapped[str] = mapped_column(ExactText(128))
    reason: Mapped[str] = mapped_column(LongText)
    revealed_at: Mapped[datetime] = mapped_column(UTCDateTime)
    ends_at: Mapped[datetime] = mapped_column(UTCDateTime)
