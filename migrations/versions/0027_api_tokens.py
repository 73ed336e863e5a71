"""Tokens of the API."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, JSONColumn, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.create_table(
        "api_tokens",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("name", ExactText(64), nullable=False),
        sa.Column("prefix", ExactText(16), nullable=False),
        sa.Column("secret_hash", ExactText(64), nullable=False),
        sa.Column("tenant", ExactText(64), nullable=False),
        sa.Column("types", JSONColumn, nullable=False),
        sa.Column("permissions", JSONColumn, nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("created_by", ExactText(254), nullable=False),
        sa.Column("expires_at", UTCDateTime, nullable=False),
        sa.Column("last_used_at", UTCDateTime),
        sa.Column("revoked_at", UTCDateTime),
        sa.Column("revoked_by", ExactText(254)),
        sa.UniqueConstraint("name", name="uq_api_tokens_name"),
        sa.UniqueConstraint("prefix", name="uq_api_tokens_prefix"),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("api_tokens")
