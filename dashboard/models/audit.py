"""The audit log, its head, and what its verifications found."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import Record, RowId


class AuditEntry(Record):
    """One decision or attempt, chained to the one before it by its hash; append-only.

    `before`, `after` and `evidence` are JSON texts, kept as the very bytes that were hashed.
    """

    __tablename__ = "audit_log"

    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(UTCDateTime)
    actor_kind: Mapped[str] = mapped_column(ExactText(16))
    actor_id: Mapped[str] = mapped_column(ExactText(254))
    address: Mapped[str | None] = mapped_column(ExactText(64))
    action: Mapped[str] = mapped_column(ExactText(48))
    subject: Mapped[str] = mapped_column(ExactText(254))
    tenant: Mapped[str | None] = mapped_column(ExactText(64))
    type: Mapped[str | None] = mapped_column(ExactText(64))
    outcome: Mapped[str] = mapped_column(ExactText(8))
    before: Mapped[str | None] = mapped_column(LongText)
    after: Mapped[str | None] = mapped_column(LongText)
    reason: Mapped[str | None] = mapped_column(LongText)
    evidence: Mapped[str | None] = mapped_column(LongText)
    request_id: Mapped[str | None] = mapped_column(ExactText(64))
    previous_hash: Mapped[str | None] = mapped_column(ExactText(64))
    hash: Mapped[str] = mapped_column(ExactText(64))


class AuditHead(Record):
    """The last entry's number and hash: one row, locked by whoever appends.

    Its foreign key is also what makes MariaDB refuse TRUNCATE on the log.
    """

    __tablename__ = "audit_head"

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    seq: Mapped[int | None] = mapped_column(ForeignKey("audit_log.seq"))
    hash: Mapped[str | None] = mapped_column(ExactText(64))


class AuditCheck(Record):
    """One verification of the log: how it was run (`way`) and by whom, and what it found.

    `checked` is the number of entries that agree, from the first on; without a `problem` that is all of them. A note
    for people and for alerts and no proof: who can alter the log can alter this.
    """

    __tablename__ = "audit_checks"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    way: Mapped[str] = mapped_column(ExactText(16))
    at: Mapped[datetime] = mapped_column(UTCDateTime)
    actor_kind: Mapped[str] = mapped_column(ExactText(16))
    actor_id: Mapped[str] = mapped_column(ExactText(254))
    checked: Mapped[int] = mapped_column(BigInteger)
    head_hash: Mapped[str | None] = mapped_column(ExactText(64))
    broken_seq: Mapped[int | None] = mapped_column(BigInteger)
    problem: Mapped[str | None] = mapped_column(ExactText(32))
    detail: Mapped[str | None] = mapped_column(LongText)
    runs: Mapped[int] = mapped_column(BigInteger)
    anchors: Mapped[int] = mapped_column(BigInteger)
