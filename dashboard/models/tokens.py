"""Tokens of the API: what a program may do, and the hash of its secret."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, JSONColumn, UTCDateTime
from dashboard.models.record import Record, RowId


class ApiToken(Record):
    """A program that may call the API for one tenant; no types means all of them.

    Only the hash of the secret is kept. `prefix` is its beginning, by which people and we find the row. A name is
    never given again, so that the audit log stays clear about who did what.
    """

    __tablename__ = "api_tokens"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(ExactText(64), unique=True)
    prefix: Mapped[str] = mapped_column(ExactText(16), unique=True)
    secret_hash: Mapped[str] = mapped_column(ExactText(64))
    tenant: Mapped[str] = mapped_column(ExactText(64))
    types: Mapped[list[str]] = mapped_column(JSONColumn)
    permissions: Mapped[list[str]] = mapped_column(JSONColumn)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    created_by: Mapped[str] = mapped_column(ExactText(254))
    expires_at: Mapped[datetime] = mapped_column(UTCDateTime)
    last_used_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    revoked_by: Mapped[str | None] = mapped_column(ExactText(254))
