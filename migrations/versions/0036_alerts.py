"""Alerts, their groups, notices and silences."""

import sqlalchemy as sa
from alembic import op

from dashboard import ddl
from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    _create_alerts()
    _create_notices()
    _create_silences()
    op.create_table(
        "alert_evaluations",
        sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("evaluated_at", UTCDateTime),
        sa.Column("unreadable", ExactText(254), nullable=False, server_default=""),
        **INNODB,
    )
    op.execute("INSERT INTO alert_evaluations (id) VALUES (1)")


def downgrade() -> None:
    for table in (
        "alert_evaluations",
        "alert_silences",
        "alert_notice_alerts",
        "alert_notices",
        "alert_groups",
        "alerts",
    ):
        op.drop_table(table)


def _marked(condition: str) -> sa.Column[int]:
    return sa.Column("is_open", sa.SmallInteger, sa.Computed(condition, persisted=ddl.stored()))


def _create_alerts() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("rule", ExactText(16), nullable=False),
        sa.Column("subject", ExactText(64), nullable=False),
        sa.Column("group_key", ExactText(80), nullable=False),
        sa.Column("destination", ExactText(64), nullable=False),
        sa.Column("state", ExactText(16), nullable=False),
        _marked("CASE WHEN state <> 'resolved' THEN 1 END"),
        sa.Column("figure", ExactText(32), nullable=False),
        sa.Column("threshold", ExactText(32), nullable=False),
        sa.Column("sample", sa.BigInteger),
        sa.Column("cause", ExactText(32), nullable=False),
        sa.Column("about", ExactText(64), nullable=False),
        sa.Column("since", UTCDateTime, nullable=False),
        sa.Column("fired_at", UTCDateTime),
        sa.Column("clear_since", UTCDateTime),
        sa.Column("resolved_at", UTCDateTime),
        sa.Column("told_at", UTCDateTime),
        sa.Column("end_told_at", UTCDateTime),
        sa.CheckConstraint("state IN ('pending', 'firing', 'resolved')", name="state_known"),
        sa.UniqueConstraint("rule", "subject", "is_open", name="uq_alerts_open"),
        **INNODB,
    )
    op.create_index("ix_alerts_open", "alerts", ["is_open", "id"])
    op.create_index("ix_alerts_resolved", "alerts", ["state", "resolved_at", "id"])
    op.create_index("ix_alerts_group", "alerts", ["group_key", "id"])
    op.create_table(
        "alert_groups",
        sa.Column("group_key", ExactText(80), primary_key=True),
        sa.Column("since", UTCDateTime, nullable=False),
        sa.Column("told_at", UTCDateTime, nullable=False),
        sa.Column("muted", sa.Boolean, nullable=False),
        **INNODB,
    )


def _create_notices() -> None:
    op.create_table(
        "alert_notices",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("group_key", ExactText(80), nullable=False),
        sa.Column("kind", ExactText(16), nullable=False),
        sa.Column("receiver", ExactText(16), nullable=False),
        sa.Column("recipient", ExactText(254), nullable=False),
        sa.Column("content", LongText, nullable=False),
        sa.Column("state", ExactText(16), nullable=False),
        _marked("CASE WHEN state = 'waiting' THEN 1 END"),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("next_attempt_at", UTCDateTime, nullable=False),
        sa.Column("lease_token", ExactText(64)),
        sa.Column("lease_until", UTCDateTime),
        sa.Column("last_error", LongText),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("sent_at", UTCDateTime),
        sa.CheckConstraint("state IN ('waiting', 'sent', 'given_up', 'superseded')", name="state_known"),
        **INNODB,
    )
    op.create_index("ix_alert_notices_open", "alert_notices", ["is_open", "next_attempt_at", "id"])
    op.create_index("ix_alert_notices_group", "alert_notices", ["group_key", "id"])
    op.create_index("ix_alert_notices_created", "alert_notices", ["created_at", "id"])
    op.create_table(
        "alert_notice_alerts",
        sa.Column(
            "notice_id",
            RowId,
            sa.ForeignKey("alert_notices.id", name="fk_alert_notice_alerts_notice_id"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column(
            "alert_id",
            RowId,
            sa.ForeignKey("alerts.id", name="fk_alert_notice_alerts_alert_id"),
            primary_key=True,
            autoincrement=False,
        ),
        **INNODB,
    )
    op.create_index("ix_alert_notice_alerts_alert", "alert_notice_alerts", ["alert_id", "notice_id"])


def _create_silences() -> None:
    op.create_table(
        "alert_silences",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("rule", ExactText(16), nullable=False),
        sa.Column("subject", ExactText(64), nullable=False),
        sa.Column("reason", LongText, nullable=False),
        sa.Column("created_by", ExactText(254), nullable=False),
        sa.Column("idempotency_key", ExactText(128), nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("ends_at", UTCDateTime, nullable=False),
        sa.Column("ended_at", UTCDateTime),
        sa.Column("ended_by", ExactText(254)),
        sa.UniqueConstraint("created_by", "idempotency_key", name="uq_alert_silences_created_by"),
        **INNODB,
    )
    op.create_index("ix_alert_silences_end", "alert_silences", ["ends_at", "id"])
