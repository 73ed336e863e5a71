"""One line of an import file: read, checked in full, and turned into the columns of its table.

A line is a JSON object `{"kind": "operation" | "event" | "idempotency", ...columns}`. Lengths and ranges are those of
the columns themselves. Nothing is guessed, coerced or rounded: what cannot be kept as it is, is refused.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from sqlalchemy import BigInteger, SmallInteger
from sqlalchemy.orm import InstrumentedAttribute

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.money import AmountError, Money, parse_amount
from dashboard.domain.states import ActorKind, Cause, ClosedReason, EventKind, State
from dashboard.domain.text import is_operation_id
from dashboard.domain.verdicts import Verdict
from dashboard.models import IdempotencyRecord, Operation, OperationEvent
from dashboard.services.import_json import read_object

# Every engine keeps these years, in every zone.
EARLIEST_YEAR = 1970
LATEST_YEAR = 9999
# These lie ahead of what happened, so they do not say how new a file is.
AHEAD = frozenset({"deadline_at", "next_attempt_at", "lease_until", "assigned_until", "expires_at"})


def text_of(column: InstrumentedAttribute[Any]) -> FieldInfo:
    """Text as long as its column allows, and not empty."""
    length: int = column.type.impl_instance.length
    field: FieldInfo = Field(min_length=1, max_length=length)
    return field


def whole(column: InstrumentedAttribute[Any], *, least: int = 0) -> FieldInfo:
    """A whole number that its column holds on every engine."""
    bits = 63 if isinstance(column.type, BigInteger) else 15 if isinstance(column.type, SmallInteger) else 31
    field: FieldInfo = Field(ge=least, le=2**bits - 1)
    return field


def _read_time(value: object) -> datetime:
    if not isinstance(value, str):
        raise PydanticCustomError("time_invalid", "time_invalid")
    try:
        at = datetime.fromisoformat(value)
    except ValueError as error:
        raise PydanticCustomError("time_invalid", "time_invalid") from error
    if at.tzinfo is None:
        raise PydanticCustomError("time_naive", "time_naive")
    if not EARLIEST_YEAR <= at.year < LATEST_YEAR:
        raise PydanticCustomError("time_range", "time_range")
    return at.astimezone(UTC)


def _read_amount(value: str) -> str:
    try:
        parse_amount(value)
    except AmountError as error:
        raise PydanticCustomError("amount_invalid", "amount_invalid") from error
    return value


def _read_operation_id(value: str) -> str:
    if not is_operation_id(value):
        raise PydanticCustomError("operation_id_invalid", "operation_id_invalid")
    return value


def _read_currency(value: str) -> str:
    try:
        return Money(Decimal(0), value).currency
    except AmountError as error:
        raise PydanticCustomError("currency_invalid", "currency_invalid") from error


Time: TypeAlias = Annotated[datetime, BeforeValidator(_read_time)]
OperationId: TypeAlias = Annotated[str, AfterValidator(_read_operation_id)]
KnownState: TypeAlias = Annotated[State, Field(strict=False)]
KnownCause: TypeAlias = Annotated[Cause, Field(strict=False)]
Header: TypeAlias = Annotated[list[str], Field(min_length=2, max_length=2)]


class _Line(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, use_enum_values=True)


class OperationLine(_Line):
    """An operation as it stood when the file was written; `parent` names the operation it compensates."""

    operation_id: OperationId
    tenant: Annotated[str, text_of(Operation.tenant)]
    type: Annotated[str, text_of(Operation.type)]
    entity_type: Annotated[str, text_of(Operation.entity_type)]
    entity_id: Annotated[str, text_of(Operation.entity_id)]
    expected_version: Annotated[int, whole(Operation.expected_version)] | None = None
    fingerprint: Annotated[str, text_of(Operation.fingerprint)] | None = None
    expected: dict[str, Any] | None = None
    destination: Annotated[str, text_of(Operation.destination)]
    state: KnownState
    revision: Annotated[int, whole(Operation.revision, least=1)] = 1
    attempts: Annotated[int, whole(Operation.attempts)] = 0
    next_attempt_at: Time | None = None
    deadline_at: Time | None = None
    lease_token: Annotated[str, text_of(Operation.lease_token)] | None = None
    lease_until: Time | None = None
    idempotency_key: Annotated[str, text_of(Operation.idempotency_key)] | None = None
    remote_id: Annotated[str, text_of(Operation.remote_id)] | None = None
    correlation_id: Annotated[str, text_of(Operation.correlation_id)] | None = None
    amount: Annotated[str, AfterValidator(_read_amount)] | None = None
    currency: Annotated[str, AfterValidator(_read_currency)] | None = None
    cause: KnownCause | None = None
    verdict: Annotated[Verdict, Field(strict=False)] | None = None
    verdict_at: Time | None = None
    recommended_action: Annotated[str, text_of(Operation.recommended_action)] | None = None
    parent: OperationId | None = None
    assigned_to: Annotated[str, text_of(Operation.assigned_to)] | None = None
    assigned_until: Time | None = None
    closed_reason: Annotated[ClosedReason, Field(strict=False)] | None = None
    created_at: Time
    state_since: Time | None = None
    updated_at: Time | None = None
    confirmed_at: Time | None = None

    @model_validator(mode="after")
    def _amount_with_currency(self) -> "OperationLine":
        if (self.amount is None) != (self.currency is None):
            field = "currency" if self.currency is None else "amount"
            raise PydanticCustomError("amount_alone", "amount_alone", {"field": field})
        return self


class EventLine(_Line):
    """Something that happened to an operation; its own kind is `event`."""

    operation_id: OperationId
    seq: Annotated[int, whole(OperationEvent.seq, least=1)]
    at: Time
    event: Annotated[EventKind, Field(strict=False)]
    from_state: KnownState | None = None
    to_state: KnownState | None = None
    actor_kind: Annotated[ActorKind, Field(strict=False)] | None = None
    actor_id: Annotated[str, text_of(OperationEvent.actor_id)] | None = None
    cause: KnownCause | None = None
    reason: str | None = None
    evidence: dict[str, Any] | None = None
    policy_hash: Annotated[str, text_of(OperationEvent.policy_hash)] | None = None
    run_id: Annotated[int, whole(OperationEvent.run_id)] | None = None


class IdempotencyLine(_Line):
    """A request key and the answer it got; `response_body` is text whose UTF-8 bytes are kept exactly."""

    tenant: Annotated[str, text_of(IdempotencyRecord.tenant)]
    operation: Annotated[str, text_of(IdempotencyRecord.operation)]
    key: Annotated[str, text_of(IdempotencyRecord.key)]
    fingerprint: Annotated[str, text_of(IdempotencyRecord.fingerprint)]
    fingerprint_version: Annotated[int, whole(IdempotencyRecord.fingerprint_version, least=1)] = 1
    field_digests: dict[str, str] | None = None
    state: Annotated[str, Field(pattern="^(processing|pending|completed|failed)$")]
    owner_token: Annotated[str, text_of(IdempotencyRecord.owner_token)] | None = None
    lease_until: Time | None = None
    response_status: Annotated[int, Field(ge=100, le=599)] | None = None
    response_headers: list[Header] | None = None
    response_body: str | None = None
    resource_ids: list[Any] | None = None
    correlation_id: Annotated[str, text_of(IdempotencyRecord.correlation_id)] | None = None
    external_reference: Annotated[str, text_of(IdempotencyRecord.external_reference)] | None = None
    operation_id: OperationId | None = None
    replay_count: Annotated[int, whole(IdempotencyRecord.replay_count)] = 0
    conflict_count: Annotated[int, whole(IdempotencyRecord.conflict_count)] = 0
    last_conflict_at: Time | None = None
    created_at: Time
    updated_at: Time | None = None
    completed_at: Time | None = None
    expires_at: Time | None = None


KINDS: Mapping[str, type[_Line]] = MappingProxyType(
    {"operation": OperationLine, "event": EventLine, "idempotency": IdempotencyLine}
)


@dataclass(frozen=True)
class ImportLine:
    """A good line: its number in the file, its kind and its fields, times in UTC."""

    number: int
    kind: str
    fields: Mapping[str, Any]
    text: bytes

    def newest(self) -> datetime:
        """The latest time at which something of this line happened."""
        return max(at for name, at in self.fields.items() if isinstance(at, datetime) and name not in AHEAD)

    def shifted(self, shift: timedelta) -> "ImportLine":
        """The same line with all its times moved; InvalidInputError where one would leave the calendar."""
        try:
            moved = {name: at + shift if isinstance(at, datetime) else at for name, at in self.fields.items()}
        except OverflowError as error:
            raise InvalidInputError((Problem("", "time_range"),)) from error
        return ImportLine(self.number, self.kind, moved, self.text)


def kind_of(text: bytes) -> str:
    """Name the kind that a refused line claims, or `other`."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return "other"
    kind = fields.get("kind") if isinstance(fields, dict) else None
    return kind if isinstance(kind, str) and kind in KINDS else "other"


def read_line(text: bytes, *, number: int) -> ImportLine:
    """Read and check one line; InvalidInputError with one Problem for each bad field, an empty name for the whole."""
    fields = read_object(text)
    kind = fields.pop("kind", None)
    if kind is None:
        raise InvalidInputError((Problem("kind", "kind_missing", {"allowed": tuple(KINDS)}),))
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInputError((Problem("kind", "kind_unknown", {"allowed": tuple(KINDS)}),))
    try:
        line = KINDS[kind].model_validate(fields)
    except ValidationError as error:
        raise InvalidInputError(_problems(error)) from error
    return ImportLine(number, kind, vars(line), text)


def _problems(error: ValidationError) -> list[Problem]:
    return [
        Problem(
            ".".join(str(part) for part in found["loc"]) or str(found.get("ctx", {}).get("field", "")),
            found["type"],
            found.get("ctx", {}),
        )
        for found in error.errors(include_input=False, include_url=False)
    ]
