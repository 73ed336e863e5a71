"""The audit log: append-only by triggers, chained by hash, with one row that holds its head."""

import sqlalchemy as sa
from alembic import op

from dashboard import ddl
from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "audit_log",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.Column("actor_kind", ExactText(16), nullable=False),
        sa.Column("actor_id", ExactText(254), nullable=False),
        sa.Column("address", ExactText(64)),
        sa.Column("action", ExactText(48), nullable=False),
        sa.Column("subject", ExactText(254), nullable=False),
        sa.Column("tenant", ExactText(64)),
        sa.Column("type", ExactText(64)),
        sa.Column("outcome", ExactText(8), nullable=False),
        sa.Column("before", LongText),
        sa.Column("after", LongText),
        sa.Column("reason", LongText),
        sa.Column("evidence", LongText),
        sa.Column("request_id", ExactText(64)),
        sa.Column("previous_hash", ExactText(64)),
        sa.Column("hash", ExactText(64), nullable=False),
        **INNODB,
    )
    for name, columns in (
        ("at", ["at", "seq"]),
        ("actor_id", ["actor_id", "seq"]),
        ("action", ["action", "seq"]),
        ("subject", ["subject", "seq"]),
        ("address", ["address", "seq"]),
        ("tenant", ["tenant", "type", "seq"]),
    ):
        op.create_index(f"ix_audit_log_{name}", "audit_log", columns)
    op.create_table(
        "audit_head",
        sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, sa.ForeignKey("audit_log.seq", name="fk_audit_head_seq")),
        sa.Column("hash", ExactText(64)),
        **INNODB,
    )
    op.execute("INSERT INTO audit_head (id) VALUES (1)")
    ddl.refuse_changes("audit_log", "seq")


def downgrade() -> None:
    ddl.allow_changes("audit_log")
    op.drop_table("audit_head")
    op.drop_table("audit_log")
