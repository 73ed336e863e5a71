"""Open work as it was counted a little while ago, where there is too much of it to count at each look."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, JSONColumn, UTCDateTime
from dashboard.models.record import INNODB, Record


class OpenSnapshot(Record):
    """The counts of one tenant at `taken_at`, as `queries.open_snapshots` writes them; the tenant '' is all of them.

    All rows are of one moment. Without any there was little enough open work to count at each look.
    """

    __tablename__ = "open_snapshots"
    __table_args__ = (INNODB,)

    tenant: Mapped[str] = mapped_column(ExactText(64), primary_key=True)
    taken_at: Mapped[datetime] = mapped_column(UTCDateTime)
    figures: Mapped[dict[str, Any]] = mapped_column(JSONColumn)
