"""People who sign in, from where they are signed in, and what each may do where."""

from datetime import datetime

from sqlalchemy import Boolean, ForeignKey, Integer, UniqueConstraint, false, true
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, UTCDateTime
from dashboard.models.record import INNODB, Record, RowId


class User(Record):
    """A person. Raising `session_epoch` ends all their sessions; `email` is stored in lower case.

    Who signs on at an identity provider has no password: the hash is empty. `password_initial` is one that somebody
    else knows.
    """

    __tablename__ = "users"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    email: Mapped[str] = mapped_column(ExactText(254), unique=True)
    password_hash: Mapped[str] = mapped_column(ExactText(255))
    password_initial: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
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


class Identity(Record):
    """Who a person is at the identity provider; the provider never gives a subject to somebody else."""

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject", name="uq_identities_issuer_subject"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), unique=True)
    issuer: Mapped[str] = mapped_column(ExactText(255))
    subject: Mapped[str] = mapped_column(ExactText(255))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)


class UserSession(Record):
    """A browser in which a person is signed in; it counts while its epoch is the person's."""

    __tablename__ = "sessions"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    secret_hash: Mapped[str] = mapped_column(ExactText(64), unique=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    epoch: Mapped[int] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    seen_at: Mapped[datetime] = mapped_column(UTCDateTime, index=True)
    address: Mapped[str | None] = mapped_column(ExactText(64))
    user_agent: Mapped[str | None] = mapped_column(ExactText(255))
