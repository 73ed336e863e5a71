"""One row of a result file, or one acknowledgement: its mapped fields, checked in full and fit to be stored."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import InstrumentedAttribute

from dashboard.adapters.evidence_files import Row
from dashboard.adapters.expressions import ExpressionError, find
from dashboard.adapters.probes.reading import read_moment
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.evidence_sources import MATCH_FIELDS
from dashboard.domain.redaction import redact_fields
from dashboard.domain.text import TextError, check_text
from dashboard.models import EvidenceItem, Operation
from dashboard.services.import_json import read_object

MAX_CONTENT = 64 * 1024
NAMES: Mapping[str, InstrumentedAttribute[Any]] = {
    "operation_id": Operation.operation_id,
    "idempotency_key": Operation.idempotency_key,
    "remote_id": Operation.remote_id,
    "tenant": Operation.tenant,
    "event_id": EvidenceItem.event_id,
}
KEPT_WHOLE = frozenset({"tenant", *MATCH_FIELDS})


@dataclass(frozen=True)
class EvidenceLine:
    """What one line says: which operation it names, when it happened, and the fields to compare."""

    content: Mapping[str, Any]
    event_id: str | None
    occurred_at: datetime | None
    raw_hash: str
    number: int | None
    text: bytes

    def named(self, field: str) -> str | None:
        """What the line says of a field that names its operation or tenant."""
        found = self.content.get(field)
        return found if isinstance(found, str) else None


def read_row(row: Row, columns: Mapping[str, str]) -> EvidenceLine:
    """Read a row of a file; InvalidInputError with one Problem for each bad field, an empty name for the whole."""
    if row.problem:
        raise InvalidInputError((row.problem,))
    if row.cells is None:
        return read_message(row.text, columns, number=row.number)
    fields = {name: row.cells[column].strip() for name, column in columns.items()}
    return _checked(fields, text=row.text, number=row.number)


def read_message(text: bytes, expressions: Mapping[str, str], *, number: int | None = None) -> EvidenceLine:
    """Read one JSON object by JMESPath; InvalidInputError with one Problem for each bad field."""
    document = read_object(text)
    fields: dict[str, object] = {}
    problems = []
    for name, expression in expressions.items():
        try:
            fields[name] = find(expression, document)
        except ExpressionError as error:
            problems.append(Problem(name, "expression_failed", {"reason": str(error)}))
    if problems:
        raise InvalidInputError(problems)
    return _checked(fields, text=text, number=number)


def _checked(fields: Mapping[str, object], *, text: bytes, number: int | None) -> EvidenceLine:
    given = {name: value for name, value in fields.items() if value is not None and value != ""}
    named = {name: _as_name(given[name]) for name in NAMES if name in given}
    occurred_at = _moment(given.get("occurred_at"))
    if problems := [*_problems(given, named), *_untimely(given, occurred_at)]:
        raise InvalidInputError(problems)
    content = _fit_to_keep({**given, **{name: value for name, value in named.items() if name in KEPT_WHOLE}})
    return EvidenceLine(
        content=content,
        event_id=named.get("event_id"),
        occurred_at=occurred_at,
        raw_hash=hashlib.sha256(text.rstrip(b"\r\n")).hexdigest(),
        number=number,
        text=text,
    )


def _problems(given: Mapping[str, object], named: Mapping[str, str | None]) -> list[Problem]:
    found = [problem for name, value in given.items() if (problem := _unstorable(name, value))]
    for name, value in named.items():
        longest: int = NAMES[name].type.length
        if value is None:
            found.append(Problem(name, "name_invalid"))
        elif len(value) > longest:
            found.append(Problem(name, "string_too_long", {"max_length": longest}))
    if not any(given.get(name) for name in MATCH_FIELDS):
        found.append(Problem("", "nothing_named", {"allowed": MATCH_FIELDS}))
    return found


def _unstorable(name: str, value: object) -> Problem | None:
    # What comes as JSON was walked when it was read; a cell of a file is text.
    try:
        check_text(value if isinstance(value, str) else "")
    except TextError as error:
        return Problem(name, error.code)
    return None


def _untimely(given: Mapping[str, object], occurred_at: datetime | None) -> list[Problem]:
    return [Problem("occurred_at", "moment_unreadable")] if "occurred_at" in given and occurred_at is None else []


def _as_name(value: object) -> str | None:
    """Names are text; a whole number is taken as it is written."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value)


def _moment(value: object) -> datetime | None:
    # In a file seconds since 1970 are text.
    if isinstance(value, str) and value.isdecimal() and value.isascii():
        return read_moment(int(value))
    return read_moment(value)


def _fit_to_keep(given: Mapping[str, object]) -> Mapping[str, Any]:
    """Without secrets, except that what names the operation is kept to the letter, or nothing could be matched."""
    kept = redact_fields(given) | {name: given[name] for name in KEPT_WHOLE if name in given}
    size = len(json.dumps(kept, ensure_ascii=False).encode())
    if size > MAX_CONTENT:
        raise InvalidInputError((Problem("", "line_too_long", {"maximum": MAX_CONTENT}),))
    return kept
