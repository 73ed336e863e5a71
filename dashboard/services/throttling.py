"""Guesses of passwords, slowed per account and address: counted in the audit log, so that all workers share the count.

A wrong current password in a change of password is a guess like one at the sign-in.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from dashboard.domain.permissions import Actor
from dashboard.models import AuditEntry
from dashboard.services import audit

WINDOW = timedelta(minutes=15)
FAILURES_PER_ACCOUNT = 5
FAILURES_PER_ADDRESS = 20
ACTION = "sign_in"
CHANGE = "password_changed"
WRONG = "credentials"
THROTTLED_ACCOUNT = "throttled_account"
THROTTLED_ADDRESS = "throttled_address"


@dataclass(frozen=True)
class Refused:
    """Why not: `credentials`, `no_grants`, `throttled_account` or `throttled_address`; wait in seconds, 0 for none."""

    code: str
    retry_after: int = 0


def throttled_by(session: Session, *, subject: str, address: str | None, now: datetime) -> Refused | None:
    """Say why the account or the address has to wait, and how long; None where neither has."""
    wait = _wait(session, AuditEntry.subject == subject, most=FAILURES_PER_ACCOUNT, now=now)
    if wait:
        return Refused(THROTTLED_ACCOUNT, wait)
    wait = _wait(session, AuditEntry.address == address, most=FAILURES_PER_ADDRESS, now=now) if address else 0
    return Refused(THROTTLED_ADDRESS, wait) if wait else None


def already_told(session: Session, *, actor: Actor, code: str, now: datetime) -> bool:
    """Tell whether the log has this refusal already: one entry a window is enough, more would let anybody fill it."""
    told = select(AuditEntry.seq).where(
        AuditEntry.at > now - WINDOW,
        AuditEntry.action == ACTION,
        AuditEntry.reason == code,
        AuditEntry.address == actor.address if actor.address else AuditEntry.address.is_(None),
    )
    if code != THROTTLED_ADDRESS:
        told = told.where(AuditEntry.subject == actor.id)
    return session.scalar(told.limit(1)) is not None


def _wait(session: Session, whose: ColumnElement[bool], *, most: int, now: datetime) -> int:
    failures = session.scalars(
        select(AuditEntry.at)
        .where(whose, AuditEntry.at > now - WINDOW, AuditEntry.outcome == audit.REFUSED)
        .where(AuditEntry.action.in_((ACTION, CHANGE)), AuditEntry.reason == WRONG)
        .order_by(AuditEntry.at.desc())
        .limit(most)
    ).all()
    return ceil((failures[-1] + WINDOW - now).total_seconds()) if len(failures) == most else 0
