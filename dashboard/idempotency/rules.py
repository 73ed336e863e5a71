"""What holds for the requests of one operation: which content is the same, and how long keys and answers are kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from dashboard.domain.fingerprint import FingerprintRules
from dashboard.domain.reservations import LEASE, RETENTION

MEBIBYTE = 1024 * 1024
# They belong to one exchange, or to one person, and are never sent a second time (design section 6).
NEVER_KEPT = frozenset(
    {
        "authorization",
        "connection",
        "content-length",
        "date",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "set-cookie",
        "set-cookie2",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "www-authenticate",
    }
)
KEPT = frozenset(
    {"cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "etag"}
    | {"last-modified", "link", "location", "vary"}
)


@dataclass(frozen=True)
class Rules:
    """The rules of one operation.

    `ignored` and `unordered` are dotted paths into the body, as in a fingerprint. `headers` are kept for a replay.
    `local_only`: the work has no effect outside the database transaction that completes the record, so it may be run
    again once its owner went silent. `marked`: the handler calls `current().begin()` before its effect, so a fault
    before that proves that nothing happened. Sizes are bytes. `required`: a request without a key is refused.
    """

    ignored: frozenset[str] = frozenset()
    unordered: frozenset[str] = frozenset()
    lease: timedelta = LEASE
    retention: timedelta = RETENTION
    headers: frozenset[str] = KEPT
    local_only: bool = False
    marked: bool = False
    required: bool = True
    longest_wait: timedelta = timedelta(seconds=10)
    max_body: int = 10 * MEBIBYTE
    max_answer: int = MEBIBYTE

    def __post_init__(self) -> None:
        object.__setattr__(self, "headers", frozenset(name.lower() for name in self.headers))
        for name in ("ignored", "unordered"):
            object.__setattr__(self, name, frozenset(getattr(self, name)))
        forbidden = sorted(self.headers & NEVER_KEPT)
        if forbidden:
            raise ValueError(f"these headers are never kept: {', '.join(forbidden)}")
        if self.lease <= timedelta(0) or self.retention <= timedelta(0):
            raise ValueError("lease and retention must be longer than nothing")

    @property
    def content(self) -> FingerprintRules:
        """The rules of the fingerprint of what is compared: the body lies in the field `body` of it."""
        return FingerprintRules(
            *(frozenset(f"body.{path}" for path in paths) for paths in (self.ignored, self.unordered))
        )

    @property
    def fields(self) -> FingerprintRules:
        """The rules of the body alone."""
        return FingerprintRules(self.ignored, self.unordered)


@dataclass(frozen=True)
class RuleBook:
    """The rules of each operation by name, and those of all others."""

    by_operation: Mapping[str, Rules] = field(default_factory=dict)
    default: Rules = Rules()

    def of(self, operation: str) -> Rules:
        """The rules of an operation."""
        return self.by_operation.get(operation, self.default)

    def published(self) -> list[dict[str, Any]]:
        """What clients may know: for each operation how long keys and answers are kept; `*` stands for the rest."""
        named = [*sorted(self.by_operation.items()), ("*", self.default)]
        return [
            {
                "operation": name,
                "key_required": rules.required,
                "lease_seconds": int(rules.lease.total_seconds()),
                "retention_seconds": int(rules.retention.total_seconds()),
                "retention_starts": "when the outcome is known",
                "longest_wait_seconds": int(rules.longest_wait.total_seconds()),
                "largest_body_bytes": rules.max_body,
                "ignored_fields": sorted(rules.ignored),
                "unordered_fields": sorted(rules.unordered),
            }
            for name, rules in named
        ]
