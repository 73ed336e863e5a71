"""Alerts: what is breached, what was told of it to whom, and what people want to hear nothing of for a while."""

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, Computed, ForeignKey, Index, Integer, SmallInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB, Record, RowId

UNRESOLVED_SQL = "CASE WHEN state <> 'resolved' THEN 1 END"
UNSENT_NOTICE_SQL = "CASE WHEN state = 'waiting' THEN 1 END"


class Alert(Record):
    """A rule of `domain.alerting` that is breached, or was; at most one of a rule and subject is not resolved.

    `subject` is an operation type, or '' for the installation. `figure` and `threshold` are decimal text in the unit of
    the rule, as last seen breached; `sample` is how many verdicts a share is of; `cause` and `about` say more where a
    rule has several ways to be breached. `told_at` is the last notice that named it, `end_told_at` the one of its end.
    """

    __tablename__ = "alerts"
    __table_args__ = (
        UniqueConstraint("rule", "subject", "is_open", name="uq_alerts_open"),
        Index("ix_alerts_open", "is_open", "id"),
        Index("ix_alerts_resolved", "state", "resolved_at", "id"),
        Index("ix_alerts_group", "group_key", "id"),
        INNODB,
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    rule: Mapped[str] = mapped_column(ExactText(16))
    subject: Mapped[str] = mapped_column(ExactText(64))
    group_key: Mapped[str] = mapped_column(ExactText(80))
    destination: Mapped[str] = mapped_column(ExactText(64))
    state: Mapped[str] = mapped_column(ExactText(16))
    is_open: Mapped[int | None] = mapped_column(SmallInteger, Computed(UNRESOLVED_SQL, persisted=True))
    figure: Mapped[str] = mapped_column(ExactText(32))
    threshold: Mapped[str] = mapped_column(ExactText(32))
    sample: Mapped[int | None] = mapped_column(BigInteger)
    cause: Mapped[str] = mapped_column(ExactText(32))
    about: Mapped[str] = mapped_column(ExactText(64))
    since: Mapped[datetime] = mapped_column(UTCDateTime)
    fired_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    clear_since: Mapped[datetime | None] = mapped_column(UTCDateTime)
    resolved_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    told_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    end_told_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class AlertGroup(Record):
    """A group whose receivers were told that something of it fires; gone once they were told that nothing does."""

    __tablename__ = "alert_groups"

    group_key: Mapped[str] = mapped_column(ExactText(80), primary_key=True)
    since: Mapped[datetime] = mapped_column(UTCDateTime)
    told_at: Mapped[datetime] = mapped_column(UTCDateTime)
    muted: Mapped[bool] = mapped_column(Boolean)


class AlertNotice(Record):
    """One notice of a group to one receiver, written with the decision to tell; `recipient` is an address of mail.

    `content` is the JSON text of `services.alert_letters`, from which the request or the letter is made.
    """

    __tablename__ = "alert_notices"
    __table_args__ = (
        Index("ix_alert_notices_open", "is_open", "next_attempt_at", "id"),
        Index("ix_alert_notices_group", "group_key", "id"),
        Index("ix_alert_notices_created", "created_at", "id"),
        INNODB,
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    group_key: Mapped[str] = mapped_column(ExactText(80))
    kind: Mapped[str] = mapped_column(ExactText(16))
    receiver: Mapped[str] = mapped_column(ExactText(16))
    recipient: Mapped[str] = mapped_column(ExactText(254))
    content: Mapped[str] = mapped_column(LongText)
    state: Mapped[str] = mapped_column(ExactText(16))
    is_open: Mapped[int | None] = mapped_column(SmallInteger, Computed(UNSENT_NOTICE_SQL, persisted=True))
    attempts: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    next_attempt_at: Mapped[datetime] = mapped_column(UTCDateTime)
    lease_token: Mapped[str | None] = mapped_column(ExactText(64))
    lease_until: Mapped[datetime | None] = mapped_column(UTCDateTime)
    last_error: Mapped[str | None] = mapped_column(LongText)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    sent_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class AlertNoticeAlert(Record):
    """Which alerts a notice tells of."""

    __tablename__ = "alert_notice_alerts"
    __table_args__ = (Index("ix_alert_notice_alerts_alert", "alert_id", "notice_id"), INNODB)

    notice_id: Mapped[int] = mapped_column(ForeignKey("alert_notices.id"), primary_key=True)
    alert_id: Mapped[int] = mapped_column(ForeignKey("alerts.id"), primary_key=True)


class AlertSilence(Record):
    """What nobody is to be told of until `ends_at`: a rule of a subject, or with the rule '' all of it.

    `ended_at` and `ended_by` say that somebody ended it before.
    """

    __tablename__ = "alert_silences"
    __table_args__ = (
        UniqueConstraint("created_by", "idempotency_key"),
        Index("ix_alert_silences_end", "ends_at", "id"),
        INNODB,
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    rule: Mapped[str] = mapped_column(ExactText(16))
    subject: Mapped[str] = mapped_column(ExactText(64))
    reason: Mapped[str] = mapped_column(LongText)
    created_by: Mapped[str] = mapped_column(ExactText(254))
    idempotency_key: Mapped[str] = mapped_column(ExactText(128))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    ends_at: Mapped[datetime] = mapped_column(UTCDateTime)
    ended_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    ended_by: Mapped[str | None] = mapped_column(ExactText(254))


class Heartbeat(Record):
    """When a piece of the engine last went through all it has to do, noted about once a minute."""

    __tablename__ = "heartbeats"

    name: Mapped[str] = mapped_column(ExactText(32), primary_key=True)
    at: Mapped[datetime] = mapped_column(UTCDateTime)


class AlertEvaluation(Record):
    """When the rules were last looked at: one row, locked by whoever does. `unreadable` names figures that failed."""

    __tablename__ = "alert_evaluations"

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    evaluated_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    unreadable: Mapped[str] = mapped_column(ExactText(254), default="", server_default="")
