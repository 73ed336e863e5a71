"""Sending notices of alerts: claimed with a lease, sent outside any transaction, marked when they were taken.

At least once: who dies between sending and marking has the notice sent again once its lease is over; an Alertmanager
takes a second one for the first, and a letter keeps its Message-ID. Notices of one group reach a receiver in order. One
that its receiver refuses, or does not take for a long time, is given up, visibly.
"""

import json
import logging
import random
import secrets
import smtplib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, exists, literal_column, or_, select, update
from sqlalchemy.orm import Session, aliased

from dashboard.adapters import mail
from dashboard.adapters.mail import MailServer
from dashboard.adapters.outward import CredentialsError, credentials
from dashboard.adapters.sinks.outcomes import MessageRefusedError, NotTakenError, PublishError, SinkAwayError
from dashboard.adapters.sinks.posting import Poster
from dashboard.db import Database, clock, transact
from dashboard.domain.alerting import NoticeState, Receiver
from dashboard.domain.policy import Alerting, Destination, Retry, retry_delay
from dashboard.models import AlertNotice

# Longer than a server for mail may take for all of its answers.
LEASE = timedelta(minutes=5)
AT_ONCE = 50
CANDIDATES = 5
# With the waits below, two to four hours.
MOST_ATTEMPTS = 50
NOTICE_RETRY = Retry(first=timedelta(seconds=10), factor=2.0, cap=timedelta(minutes=5))
JSON_HEADERS = {"Content-Type": "application/json"}
NO_RECEIVER = "the policy names this receiver no longer"
NO_SERVER = "no server for mail is set up: set DASHBOARD_SMTP_HOST"
_PERMANENT = 500
_WAITS: ColumnElement[bool] = literal_column("alert_notices.is_open = 1")

log = logging.getLogger("dashboard.alerts")


@dataclass(frozen=True)
class Ways:
    """How notices can leave here."""

    alerting: Alerting
    server: MailServer | None = None
    lease: timedelta = LEASE


@dataclass(frozen=True)
class Held:
    """A notice that is sent from here now, under its token."""

    number: int
    receiver: Receiver
    recipient: str
    content: str
    attempts: int
    created_at: datetime
    token: str = field(default_factory=lambda: secrets.token_hex(16))


def send_due(
    database: Database, ways: Ways, *, now: datetime | None = None, stop: Callable[[], bool] = lambda: False
) -> int:
    """Send what waits and is due, at most AT_ONCE notices, and say how many were tried; `now` stands for the clock."""
    tried = 0
    while tried < AT_ONCE and not stop():
        held = transact(database, lambda session: claim(session, lease=ways.lease, now=now))
        if held is None:
            break
        error = _send(held, ways)
        transact(database, lambda session, held=held, error=error: mark(session, held, error, now=now))  # type: ignore[misc]
        tried += 1
    return tried


def claim(session: Session, *, lease: timedelta = LEASE, now: datetime | None = None) -> Held | None:
    """Take the oldest notice that is due and nobody else holds, and count the attempt; None where there is none."""
    at = now or clock(session)
    notice = AlertNotice
    free = or_(notice.lease_until.is_(None), notice.lease_until <= at)
    due = select(notice).where(_WAITS, notice.next_attempt_at <= at, free, ~_behind_another())
    for row in session.scalars(due.order_by(notice.id).limit(CANDIDATES)).all():
        held = Held(row.id, Receiver(row.receiver), row.recipient, row.content, row.attempts + 1, row.created_at)
        claiming = update(notice).where(notice.id == row.id, _WAITS, free, notice.attempts == row.attempts)
        values = {"attempts": held.attempts, "lease_token": held.token, "lease_until": at + lease}
        if session.connection().execute(claiming.values(**values)).rowcount == 1:
            return held
    return None


def _behind_another() -> ColumnElement[bool]:
    """Whether an earlier notice of the same group still waits to reach the same receiver."""
    earlier = aliased(AlertNotice)
    same = (getattr(earlier, name) == getattr(AlertNotice, name) for name in ("group_key", "receiver", "recipient"))
    return exists().where(and_(earlier.is_open.is_not(None), earlier.id < AlertNotice.id, *same))


def _send(held: Held, ways: Ways) -> PublishError | None:
    """What went wrong, if anything; nothing it raises may end the sender."""
    try:
        if held.receiver is Receiver.MAIL:
            _mail(held, ways)
        else:
            _post(held, ways.alerting.webhook)
    except PublishError as error:
        return error
    except Exception as error:
        log.exception("notice %s could not be sent", held.number)
        return NotTakenError(f"an error of the sender ({type(error).__name__})")
    return None


def _post(held: Held, webhook: Destination | None) -> None:
    if webhook is None:
        raise MessageRefusedError(NO_RECEIVER)
    try:
        headers = {**JSON_HEADERS, **credentials(webhook.auth)}
    except CredentialsError as error:
        raise SinkAwayError(error.reason) from error
    poster = Poster(webhook.base_url, timeout=webhook.timeout, allow_private=webhook.allow_private)
    try:
        poster.post(held.content.encode(), headers)
    finally:
        poster.close()


def _mail(held: Held, ways: Ways) -> None:
    if held.recipient not in ways.alerting.mail:
        raise MessageRefusedError(NO_RECEIVER)
    if ways.server is None:
        raise SinkAwayError(NO_SERVER)
    told = json.loads(held.content)
    domain = ways.server.sender.rpartition("@")[2]
    message_id = f"<alert-{held.number}-{held.created_at:%Y%m%d%H%M%S%f}@{domain}>"
    try:
        mail.send(ways.server, to=held.recipient, subject=told["subject"], text=told["text"], message_id=message_id)
    except smtplib.SMTPRecipientsRefused as error:
        code = next((code for code, _ in error.recipients.values()), 0)
        raise _refused(code) from error
    except smtplib.SMTPDataError as error:
        raise _refused(error.smtp_code) from error
    except smtplib.SMTPResponseException as error:
        raise SinkAwayError(f"the server for mail answered {error.smtp_code}") from error
    except OSError as error:
        raise SinkAwayError(f"the server for mail cannot be reached ({type(error).__name__})") from error


def _refused(code: int) -> PublishError:
    reason = f"the server for mail refused it ({code})"
    return MessageRefusedError(reason) if code >= _PERMANENT else NotTakenError(reason)


def mark(session: Session, held: Held, error: PublishError | None, *, now: datetime | None = None) -> None:
    """Record what became of a notice that is still held; of a lost one nothing changes."""
    at = now or clock(session)
    if error is None:
        _settle(session, held, {"state": NoticeState.SENT.value, "sent_at": at, "last_error": None})
        return
    if isinstance(error, MessageRefusedError) or held.attempts >= MOST_ATTEMPTS:
        _settle(session, held, {"state": NoticeState.GIVEN_UP.value, "last_error": error.reason})
        log.error("a notice of alerts was given up", extra={"notice": held.number, "reason": error.reason})
        return
    retry_after = error.retry_after if isinstance(error, SinkAwayError) else None
    # Half of the jitter stays, or a receiver that is away would be asked without any pause.
    jitter = (1 + random.random()) / 2  # noqa: S311 - jitter, not a secret
    wait = retry_delay(NOTICE_RETRY, attempts=held.attempts, jitter=jitter, retry_after=retry_after)
    _settle(session, held, {"next_attempt_at": at + wait, "last_error": error.reason})
    log.warning("a notice of alerts was not taken", extra={"notice": held.number, "reason": error.reason})
    if isinstance(error, SinkAwayError):
        _hold_back(session, held, until=at + wait)


def _settle(session: Session, held: Held, values: dict[str, object]) -> None:
    mine = update(AlertNotice).where(AlertNotice.id == held.number, AlertNotice.lease_token == held.token)
    session.connection().execute(mine.values(lease_token=None, lease_until=None, **values))


def _hold_back(session: Session, held: Held, *, until: datetime) -> None:
    """Whoever else waits for a receiver that is away waits as long: one notice asks for all."""
    others = update(AlertNotice).where(
        _WAITS,
        AlertNotice.receiver == held.receiver.value,
        AlertNotice.lease_token.is_(None),
        AlertNotice.next_attempt_at < until,
    )
    session.connection().execute(others.values(next_attempt_at=until))
