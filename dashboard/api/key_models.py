"""Idempotency keys of hosts as they are sent and read."""

import base64
import binascii
from typing import Annotated, Any, Literal

from pydantic import Field

from dashboard.api.answering import Answer, Moment
from dashboard.api.operation_models import OperationId, Sent
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.key_syntax import LONGEST_KEY
from dashboard.domain.reservations import Answer as Kept
from dashboard.domain.reservations import Replay

OPERATION_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"
# As a key in quotes may be: blanks count, also at its ends, and it is not blanks alone.
KEY_PATTERN = "^[ -~]*[!-~][ -~]*$"
OperationName = Annotated[str, Field(pattern=OPERATION_PATTERN)]
Key = Annotated[str, Field(pattern=KEY_PATTERN, max_length=LONGEST_KEY)]
Reference = Annotated[str, Field(min_length=1, max_length=128)]
Header = tuple[str, str]


class Named(Sent):
    """A key in its scope: the token's tenant, and what the host calls the operation."""

    operation: OperationName
    key: Key


class ReserveRequest(Named):
    """A key to take, with its content: either the `payload`, or the `fingerprint` of it that the host made itself."""

    payload: Any = None
    fingerprint: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    lease_seconds: Annotated[int, Field(ge=1, le=3600)] = 60
    correlation_id: Reference | None = None
    operation_id: OperationId | None = None


class StoredAnswer(Sent):
    """An answer that is kept and sent again byte for byte; `encoding` says how its bytes are written here."""

    status: Annotated[int, Field(ge=200, le=499)]
    headers: Annotated[list[Annotated[list[str], Field(min_length=2, max_length=2)]], Field(max_length=50)] = Field(
        default_factory=list
    )
    body: str = ""
    encoding: Literal["utf-8", "base64"] = "utf-8"


class Owner(Named):
    """A key that is ours, by the token its reservation gave."""

    owner_token: Annotated[str, Field(min_length=1, max_length=64)]


class SettleRequest(Owner):
    """What came of the work; without an answer only that it is settled is kept."""

    answer: StoredAnswer | None = None
    resource_ids: Annotated[list[Reference], Field(max_length=50)] = Field(default_factory=list)
    external_reference: Reference | None = None
    operation_id: OperationId | None = None


class PendingRequest(Owner):
    """The effect may have happened: nobody runs this again until that is known."""

    external_reference: Reference | None = None
    operation_id: OperationId | None = None


class KeptAnswer(Answer):
    """An answer as it was kept."""

    status: int
    headers: list[Header]
    body: str
    encoding: Literal["utf-8", "base64"]


class KeyStanding(Answer):
    """What a key stands for.

    `owned`: the key is yours, with `owner_token`. `replay`: it was dealt with; `answer` is null where none is kept.
    `unfinished`: somebody is at work, or what came of it is not known yet.
    """

    outcome: Literal["owned", "replay", "unfinished"]
    operation: str
    key: str
    state: Literal["processing", "pending", "completed", "failed"]
    owner_token: str | None = None
    lease_seconds: int | None = None
    retry_after_seconds: int | None = None
    answer: KeptAnswer | None = None
    expired: bool = False
    completed_at: Moment | None = None
    expires_at: Moment | None = None
    resource_ids: list[str] = Field(default_factory=list)
    external_reference: str | None = None
    operation_id: str | None = None


class PolicyRow(Answer):
    """For how long keys of an operation are kept, and what else holds for them; `*` stands for all others."""

    operation: str
    key_required: bool
    lease_seconds: int
    retention_seconds: int
    retention_starts: str
    longest_wait_seconds: int
    largest_body_bytes: int
    ignored_fields: list[str]
    unordered_fields: list[str]


class KeyPolicy(Answer):
    """What clients may rely on."""

    operations: list[PolicyRow]


def kept_of(sent: StoredAnswer) -> Kept:
    """The answer as it is kept; InvalidInputError where its body is not what it says."""
    try:
        body = base64.b64decode(sent.body, validate=True) if sent.encoding == "base64" else sent.body.encode()
    except (binascii.Error, ValueError) as error:
        raise InvalidInputError((Problem("answer.body", "base64_invalid"),)) from error
    return Kept(sent.status, tuple((name, value) for name, value in sent.headers), body)


def told(found: Replay) -> KeptAnswer | None:
    """A kept answer as it is sent here: as text where its bytes are text."""
    if found.answer is None:
        return None
    try:
        body, encoding = found.answer.body.decode(), "utf-8"
    except UnicodeDecodeError:
        body, encoding = base64.b64encode(found.answer.body).decode(), "base64"
    return KeptAnswer.model_validate(
        {"status": found.answer.status, "headers": found.answer.headers, "body": body, "encoding": encoding}
    )
