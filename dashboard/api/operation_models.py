"""Operations as programs send and read them."""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from dashboard.api.answering import Answer, Links, Moment
from dashboard.domain.states import Cause, State
from dashboard.domain.text import OPERATION_ID

# As JSON Schema wants a pattern: anchored.
ID_PATTERN = f"^{OPERATION_ID.pattern}$"
AMOUNT_PATTERN = r"^-?[0-9]{1,24}(\.[0-9]{1,6})?$"
CURRENCY_PATTERN = "^[A-Z]{3}$"

OperationId = Annotated[str, Field(pattern=ID_PATTERN)]
Name = Annotated[str, Field(min_length=1, max_length=64)]
Identity = Annotated[str, Field(min_length=1, max_length=128)]


class Sent(BaseModel):
    """What all bodies share: nothing may be in them that is not described."""

    model_config = ConfigDict(extra="forbid")


class OutboxMessage(Sent):
    """A message to publish with the registration, in the order of its `aggregate_key`."""

    sink: Name
    topic: Identity
    aggregate_key: Annotated[str, Field(min_length=1, max_length=255)]
    payload: dict[str, Any]


class Registration(Sent):
    """An operation to write down before anything is sent."""

    operation_id: OperationId
    type: Name
    entity_type: Name
    entity_id: Identity
    destination: Name
    expected: dict[str, Any] = Field(default_factory=dict)
    expected_version: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    idempotency_key: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    correlation_id: Identity | None = None
    amount: Annotated[str, Field(pattern=AMOUNT_PATTERN)] | None = None
    currency: Annotated[str, Field(pattern=CURRENCY_PATTERN)] | None = None
    due_at: AwareDatetime | None = None
    deadline_at: AwareDatetime | None = None
    message: OutboxMessage | None = None


class Registered(Answer):
    """What a registration came to; `new` is false where the very same was there before."""

    operation_id: str
    new: bool
    state: State


class Withdrawal(Sent):
    """Why an operation is taken back before anybody began it."""

    reason: Annotated[str, Field(min_length=1, max_length=2000)]


class Standing(Answer):
    """Where an operation stands after a change."""

    operation_id: str
    state: State


class OperationRow(Answer):
    """An operation as lists show it."""

    operation_id: str
    tenant: str
    type: str
    entity_type: str
    entity_id: str
    destination: str
    state: State
    attempts: int
    next_attempt_at: Moment | None
    deadline_at: Moment
    amount: str | None
    currency: str | None
    cause: str | None
    verdict: str | None
    verdict_at: Moment | None
    assigned_to: str | None
    closed_reason: str | None
    created_at: Moment
    state_since: Moment
    confirmed_at: Moment | None


class OperationPage(Links):
    """A page of operations."""

    items: list[OperationRow]


class OperationDetail(OperationRow):
    """One operation; what policy redacts or masks is hidden in `expected`."""

    expected_version: int | None
    expected: dict[str, Any]
    revision: int
    idempotency_key: str | None
    remote_id: str | None
    correlation_id: str | None
    parent: str | None
    updated_at: Moment


class EventRow(Answer):
    """Something that happened to an operation; what policy redacts or masks is hidden in reason and evidence."""

    seq: int
    at: Moment
    kind: str
    from_state: State | None
    to_state: State | None
    actor_kind: str | None
    actor_id: str | None
    cause: str | None
    reason: str | None
    evidence: dict[str, Any] | None
    policy_hash: str | None


class EventPage(Links):
    """A page of an operation's history, oldest first."""

    items: list[EventRow]


class ClaimRequest(Sent):
    """Which due operations a worker takes, how many at most, and for how long."""

    types: Annotated[list[Name], Field(min_length=1, max_length=50)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    lease_seconds: Annotated[int, Field(ge=10, le=900)] = 60


class Compensated(Answer):
    """What a compensation undoes."""

    operation_id: str
    remote_id: str | None
    idempotency_key: str


class ClaimedOperation(Answer):
    """Claimed work: `idempotency_key` is the same for every attempt; give it to the destination."""

    operation_id: str
    tenant: str
    type: str
    entity_type: str
    entity_id: str
    expected_version: int | None
    expected: dict[str, Any]
    destination: str
    idempotency_key: str
    amount: Annotated[str, Field(pattern=AMOUNT_PATTERN)] | None
    currency: str | None
    correlation_id: str | None
    attempts: int
    compensates: Compensated | None


class Claims(Answer):
    """What was claimed: every later call names the lease token; after `lease_until` nothing more may be sent."""

    lease_token: str | None
    lease_until: Moment | None
    operations: list[ClaimedOperation]


class Held(Sent):
    """The lease under which a worker holds an operation."""

    lease_token: Annotated[str, Field(min_length=1, max_length=64)]


class HeartbeatRequest(Held):
    """Extend the lease, from now."""

    lease_seconds: Annotated[int, Field(ge=10, le=900)] = 60


class Heartbeat(Answer):
    """Until when the lease holds now."""

    operation_id: str
    lease_until: Moment


class Proven(Held):
    """The destination's own id for the effect, and what else shows it."""

    remote_id: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    evidence: dict[str, Any] = Field(default_factory=dict)


Unsent = Literal["not_sent", "throttled", "local_conflict"]


class Failed(Held):
    """What is known of an attempt that failed."""

    reason: Annotated[str, Field(max_length=2000)] = ""
    status: Annotated[int, Field(ge=100, le=599)] | None = None
    retry_after: Annotated[str, Field(max_length=64)] | None = None


class Attempted(Failed):
    """An attempt that failed. `sent_unknown` is never sent again before the destination was asked."""

    cause: Cause


class Retried(Failed):
    """An attempt that failed and surely had no effect; the next one comes not before `after_seconds`."""

    cause: Unsent
    after_seconds: Annotated[int, Field(ge=0, le=604_800)] | None = None
