"""People who sign in, and what each may do where."""

from datetime import datetime

from sqlalchemy import Boolean, ForeignKey, Integer, true
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, UTCDateTime
from dashboard.models.record import Record, RowId


class User(Record):
    """A person. Raising `session_epoch` ends all their sessions; `email` is stored in lower case."""

    __tablename__ = "users"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    email: Mapped[str] = mapped_column(ExactText(254), unique=True)
    password_hash: Mapped[str] = mapped_column(ExactText(255))
    session_epoch: Mapped[int] = mapped_column(Integer, default=1, server_default="1")
    locale: Mapped[str | None] = mapped_column(ExactText(16))
    timezone: Mapped[str | None] = mapped_column(ExactText(64))
    theme: Mapped[str] = mapped_column(ExactText(8), default="system", server_default="system")
    shortcuts: Mapped[bool] = mapped_column(Boolean, default=True, server_default=true())
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    disabled_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class UserGrant(Record):
    """A role of a user for one tenant and one type; NULL means all."""

    __tablename__ = "grants"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    role: Mapped[str] = mapped_column(ExactText(16))
    tenant: Mapped[str | None] = mapped_column(ExactText(64))
    type: Mapped[str | None] = mapped_column(ExactText(64))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
