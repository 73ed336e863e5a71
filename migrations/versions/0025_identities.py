"""Who a person is at the identity provider: its issuer and its subject there, never the e-mail address."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "identities",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("user_id", RowId, sa.ForeignKey("users.id", name="fk_identities_user_id"), nullable=False),
        sa.Column("issuer", ExactText(255), nullable=False),
        sa.Column("subject", ExactText(255), nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.UniqueConstraint("user_id", name="uq_identities_user_id"),
        sa.UniqueConstraint("issuer", "subject", name="uq_identities_issuer_subject"),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("identities")
