"""What each verification of the audit log found, whoever ran it and however."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    op.create_table(
        "audit_checks",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("way", ExactText(16), nullable=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.Column("actor_kind", ExactText(16), nullable=False),
        sa.Column("actor_id", ExactText(254), nullable=False),
        sa.Column("checked", sa.BigInteger, nullable=False),
        sa.Column("head_hash", ExactText(64)),
        sa.Column("broken_seq", sa.BigInteger),
        sa.Column("problem", ExactText(32)),
        sa.Column("detail", LongText),
        sa.Column("runs", sa.BigInteger, nullable=False),
        sa.Column("anchors", sa.BigInteger, nullable=False),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("audit_checks")
