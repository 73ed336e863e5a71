"""Logs: every record, ours or a library's, goes through one renderer to standard error.

    with about(operation_id=work.operation_id, correlation_id=work.correlation_id):
        log.info("sent")

A record carries what `about` said around it. On a terminal it is a line to read, elsewhere one JSON object a line.
Secrets are taken out of all of it, by the rules of `domain.redaction`, before it is written; so are values that no
rule can look into, which are turned to text first.
"""

import logging
import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from math import isfinite
from typing import Any, TextIO

import structlog
from structlog.contextvars import bind_contextvars, bound_contextvars, clear_contextvars, merge_contextvars
from structlog.typing import EventDict, Processor, WrappedLogger

from dashboard.domain.redaction import REDACTED, redact, redact_fields
from dashboard.domain.text import visible

DEEPEST = 8
# What a line says in several lines; everything else stays in its own.
LONG = "exception"

_EACH: tuple[Processor, ...] = (
    merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


class StandardError(logging.StreamHandler[TextIO]):
    """Writes to what is standard error at that moment; where that is a terminal, for a person."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self._formatters = {terminal: formatter(terminal=terminal) for terminal in (False, True)}

    @property
    def stream(self) -> TextIO:  # type: ignore[override]  # an attribute there, looked up each time here
        return sys.stderr

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that logging gives
        """Say that a record could not be written, and none of its values: they may be secrets."""
        self.stream.write(f"A log record of {visible(record.name)} could not be formatted.\n")

    def format(self, record: logging.LogRecord) -> str:
        return self._formatters[self.stream.isatty()].format(record)


class Renderer(structlog.stdlib.ProcessorFormatter):
    """Looks into the values of a message before they become text, where their names still tell what is secret."""

    def format(self, record: logging.LogRecord) -> str:
        # What another handler wrote on the record is no context.
        copied = logging.makeLogRecord({k: v for k, v in record.__dict__.items() if k not in {"message", "asctime"}})
        if isinstance(record.args, Mapping):
            copied.args = redact_fields(record.args)
        elif record.args:
            copied.args = tuple(_argument(each) for each in record.args)
        return super().format(copied)


def configure(*, level: int = logging.WARNING) -> None:
    """Send everything through the renderer: ours from this level, and from libraries what went wrong."""
    root = logging.getLogger()
    if _HANDLER not in root.handlers:
        root.addHandler(_HANDLER)
    logging.captureWarnings(capture=True)
    logging.getLogger("dashboard").setLevel(level)


def about(**context: object) -> AbstractContextManager[None]:
    """Put what is known, such as `operation_id` and `run_id`, on every record inside; None says nothing."""
    return bound_contextvars(**{name: value for name, value in context.items() if value is not None})


def begin_request(**context: object) -> None:
    """Forget the request this thread answered before, and put what is known on every record of this one."""
    clear_contextvars()
    bind_contextvars(**context)


def formatter(*, terminal: bool) -> logging.Formatter:
    """Give the renderer: a line to read for a terminal, else one JSON object."""
    last: Processor = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if terminal
        else structlog.processors.JSONRenderer()
    )
    return Renderer(
        foreign_pre_chain=_EACH,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            without_secrets,
            last,
        ],
    )


def without_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Take out what is or looks like a secret, and spell out what would begin another line."""
    plain = {str(name): _plain(value, 0) for name, value in event.items() if value is not None}
    redacted: dict[str, Any] = redact_fields(plain)
    return {
        name: value if name == LONG or not isinstance(value, str) else _one_line(value)
        for name, value in redacted.items()
    }


def _argument(value: object) -> object:
    return redact(_plain(value, 0)) if isinstance(value, Mapping | list | tuple | AbstractSet) else value


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "\\n")


def _plain(value: object, depth: int) -> object:
    """What JSON can hold; anything else as text, which the rules can look into."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if depth >= DEEPEST:
        return REDACTED
    if isinstance(value, Mapping):
        return {_text(name): _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple | AbstractSet):
        return [_plain(item, depth + 1) for item in value]
    return _text(value)


def _text(value: object) -> str:
    try:
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    except Exception as error:  # noqa: BLE001 - a value that cannot be shown must not stop the line
        return f"[not shown: {type(error).__name__}]"


_HANDLER = StandardError()
