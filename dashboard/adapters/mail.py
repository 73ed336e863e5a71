"""Mail over SMTP: plain text to one person at a time, never inside a transaction."""

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.message import EmailMessage

from dashboard.config import Settings
from dashboard.db import assert_outside_transaction

CONNECT_SECONDS = 10
# A server that looks into a letter before it takes it may be slow to say so.
ANSWER_SECONDS = 30


@dataclass(frozen=True)
class MailServer:
    """Where mail is handed over; `security` is `starttls`, `tls` or `none`."""

    host: str
    port: int
    security: str
    sender: str
    user: str | None = None
    password: str | None = None


def mail_server(settings: Settings) -> MailServer | None:
    """The server that the settings name; None where they name none, and then nobody gets mail."""
    if not settings.smtp_host:
        return None
    password = settings.smtp_password.get_secret_value() if settings.smtp_password else None
    return MailServer(
        settings.smtp_host, settings.smtp_port, settings.smtp_security, settings.smtp_from, settings.smtp_user, password
    )


def send(server: MailServer, *, to: str, subject: str, text: str, message_id: str | None = None) -> None:
    """Hand one message over; raises OSError or SMTPException where the server does not take it.

    With a `message_id` of the sender's own, one that is handed over twice is one letter for whoever reads mail.
    """
    assert_outside_transaction()
    message = EmailMessage()
    message["From"] = server.sender
    message["To"] = to
    message["Subject"] = subject
    if message_id:
        message["Message-ID"] = message_id
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    with _connected(server) as connection:
        if server.security == "starttls":
            connection.starttls(context=ssl.create_default_context())
        if server.user:
            connection.login(server.user, server.password or "")
        connection.send_message(message)


@contextmanager
def _connected(server: MailServer) -> Iterator[smtplib.SMTP]:
    if server.security == "tls":
        context = ssl.create_default_context()
        connection: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=CONNECT_SECONDS, context=context)
    else:
        connection = smtplib.SMTP(server.host, server.port, timeout=CONNECT_SECONDS)
    assert connection.sock is not None  # noqa: S101 - connected just now
    connection.sock.settimeout(ANSWER_SECONDS)
    try:
        yield connection
        # Taken is taken, whatever the server answers to a farewell: an error here would send the letter again.
        with suppress(OSError):
            connection.quit()
    finally:
        connection.close()
