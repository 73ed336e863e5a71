"""Evidence that comes by itself: how lines of result files and signed acknowledgements name their operation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

# At least one of these must be mapped, or nothing could ever match; tried in this order.
MATCH_FIELDS = ("operation_id", "idempotency_key", "remote_id")
# These are read for the product's own use; all other mapped names are fields to compare.
OWN_FIELDS = (*MATCH_FIELDS, "tenant", "event_id", "occurred_at")


class FileFormat(StrEnum):
    """How a result file is written: a header and separated values, or one JSON object a line."""

    CSV = "csv"
    JSONL = "jsonl"


class SignatureScheme(StrEnum):
    """How an acknowledgement is signed."""

    STANDARD_WEBHOOKS = "standard_webhooks"
    STRIPE = "stripe"


@dataclass(frozen=True)
class EvidenceFile:
    """The result files of a destination.

    `columns` maps our field to a column's name (csv) or a JMESPath expression (jsonl). `present` and `cancelled` are
    JMESPath over the mapped fields: whether the line says that the effect exists (always, where it is None), and
    whether the effect was called off.
    """

    format: FileFormat
    columns: Mapping[str, str]
    present: str | None = None
    cancelled: str | None = None
    delimiter: str = ","
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Receipts:
    """The signed acknowledgements of a destination; `fields` maps our field to a JMESPath in the message.

    The secret is read from the environment variable `secret_env` when it is needed; a message whose signed time is
    further than `tolerance` from now is refused.
    """

    scheme: SignatureScheme
    secret_env: str
    fields: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    tolerance: timedelta = timedelta(minutes=5)
    present: str | None = None
    cancelled: str | None = None
