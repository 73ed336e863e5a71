"""How a policy file describes outside systems: how to reach them, what they send by themselves, and sinks."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictInt, ValidationInfo, field_validator

from dashboard.domain.evidence_sources import MATCH_FIELDS, FileFormat, SignatureScheme
from dashboard.services.policy_values import (
    Expression,
    Name,
    Table,
    Text,
    TextValue,
    Variable,
    VariableName,
    Wait,
    is_web_address,
    read_expression,
    refuse,
)

DEFAULT_CLAIMS = 10


def _web_address(value: Text) -> Text:
    if value.env is None and value.default is None:
        raise refuse("text_missing")
    if value.default is not None and not is_web_address(value.default):
        raise refuse("address_invalid", value=value.default)
    return value


def _some_text(value: Text) -> Text:
    if value.env is None and not value.default:
        raise refuse("text_missing")
    return value


def _matching(columns: dict[str, str]) -> dict[str, str]:
    if not any(name in columns for name in MATCH_FIELDS):
        raise refuse("match_missing", allowed=MATCH_FIELDS)
    return columns


WebAddress = Annotated[TextValue, AfterValidator(_web_address)]
Url = Annotated[TextValue, AfterValidator(_some_text)]
Fields = Annotated[dict[Name, str], AfterValidator(_matching)]
Claims = Annotated[StrictInt, Field(ge=1, le=1000)]


class AuthTable(Table):
    """How a probe proves who we are."""

    kind: Literal["bearer", "header", "basic"]
    env: VariableName
    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")] = "Authorization"


class Budget(Table):
    """How much all workers together may ask of the destination."""

    retries_per_minute: Annotated[StrictInt, Field(ge=1, le=1_000_000)]


class EvidenceTable(Table):
    """How the lines of a result file name their operation."""

    format: FileFormat
    columns: Fields
    present: Expression | None = None
    cancelled: Expression | None = None
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    encoding: Literal["utf-8", "utf-8-sig", "latin-1", "cp1252"] = "utf-8"

    @field_validator("columns")
    @classmethod
    def _expressions_of_json(cls, columns: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if info.data.get("format") is FileFormat.JSONL:
            read_each(columns)
        return columns


class ReceiptsTable(Table):
    """How signed acknowledgements are checked, and how they name their operation."""

    scheme: SignatureScheme
    secret: Variable
    fields: Fields
    tolerance: Wait | None = None
    present: Expression | None = None
    cancelled: Expression | None = None

    @field_validator("fields")
    @classmethod
    def _expressions(cls, fields: dict[str, str]) -> dict[str, str]:
        read_each(fields)
        return fields


class DestinationTable(Table):
    """An outside system."""

    base_url: WebAddress | None = None
    auth: AuthTable | None = None
    honours_idempotency_key: StrictBool = False
    timeout: Wait | None = None
    allow_private: StrictBool = False
    budget: Budget | None = None
    evidence: EvidenceTable | None = None
    receipts: ReceiptsTable | None = None


class SinkTable(Table):
    """What all kinds share: how often a message is tried before it is dead."""

    max_claims: Claims = DEFAULT_CLAIMS


class WebhookSink(SinkTable):
    """A signed HTTP POST of each message."""

    kind: Literal["webhook"]
    url: WebAddress
    secret: Variable
    timeout: Wait | None = None
    allow_private: StrictBool = False


class AmqpSink(SinkTable):
    """A topic exchange of a broker; the message's topic is the routing key."""

    kind: Literal["amqp"]
    url: Url
    exchange: Name


class RedisSink(SinkTable):
    """A queue in Redis."""

    kind: Literal["redis"]
    url: Url
    queue: Name


class TableSink(SinkTable):
    """The outbox table itself, for hosts that poll it."""

    kind: Literal["table"]


AnySink = Annotated[WebhookSink | AmqpSink | RedisSink | TableSink, Field(discriminator="kind")]


def read_each(expressions: dict[str, Any]) -> None:
    """Refuse the first of several JMESPath expressions that does not parse, with the field it is for."""
    for name, expression in expressions.items():
        read_expression(expression, of=name)
