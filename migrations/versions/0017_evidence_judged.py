"""When an item of evidence was judged, so that one whose process died before that is found and judged later."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import UTCDateTime

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("evidence_items", sa.Column("judged_at", UTCDateTime))
    op.create_index("ix_evidence_items_judged", "evidence_items", ["match", "judged_at", "id"])
    op.create_index("ix_evidence_items_occurred", "evidence_items", ["destination", "source", "occurred_at"])


def downgrade() -> None:
    op.drop_index("ix_evidence_items_occurred", "evidence_items")
    op.drop_index("ix_evidence_items_judged", "evidence_items")
    with op.batch_alter_table("evidence_items") as table:
        table.drop_column("judged_at")
