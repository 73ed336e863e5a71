"""Evidence that came by itself, as it is kept: lines of result files and signed acknowledgements."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Source(StrEnum):
    """How it came; also the kind of the probe that reads it."""

    FILE = "file"
    RECEIPT = "receipt"


class Match(StrEnum):
    """How many operations it names; more than one is never guessed between."""

    MATCHED = "matched"
    UNMATCHED = "unmatched"
    SEVERAL = "several"


@dataclass(frozen=True)
class Received:
    """One line or message about an operation; `content` holds the fields that policy maps.

    `occurred_at` is when it happened at the destination, None where the destination does not say.
    """

    source: Source
    event_id: str
    content: Mapping[str, object]
    origin: str
    raw_hash: str
    line: int | None = None
    occurred_at: datetime | None = None

    @property
    def remote_id(self) -> str | None:
        """The destination's own id of the effect, where it gives one."""
        named = self.content.get("remote_id")
        return named if isinstance(named, str) and named else None

    def told(self) -> dict[str, object]:
        """Where it came from, for the evidence of a verdict."""
        at = self.occurred_at.isoformat() if self.occurred_at else None
        told = {"source": self.source.value, "origin": self.origin, "line": self.line, "occurred_at": at}
        return {**told, "event_id": self.event_id, "raw_hash": self.raw_hash}
