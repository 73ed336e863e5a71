"""Text and evidence from hosts and destinations, made fit for every engine: an odd byte must not cost an outcome."""

import json
from collections.abc import Mapping
from typing import Any

from dashboard.domain.policy import TypePolicy
from dashboard.domain.redaction import redact
from dashboard.domain.text import visible

LONGEST_REASON = 2000
LONGEST_REMOTE_ID = 128
LONGEST_EVIDENCE = 64 * 1024


def storable_reason(reason: str | None) -> str | None:
    """At most 2,000 characters, odd ones spelled out; None for no words at all."""
    return visible(reason)[:LONGEST_REASON] if reason else None


def storable_remote_id(remote_id: str | None) -> str | None:
    """The id if it fits its column; a longer or stranger one is left to the evidence."""
    if not remote_id or len(remote_id) > LONGEST_REMOTE_ID or visible(remote_id) != remote_id:
        return None
    return remote_id


def storable_evidence(evidence: Mapping[str, Any], policy: TypePolicy) -> dict[str, Any] | None:
    """Evidence as JSON without secrets, at most 64 KiB; None where there is none."""
    cleaned = _cleaned(redact(evidence, paths=policy.redact))
    size = len(json.dumps(cleaned, ensure_ascii=False).encode())
    if size > LONGEST_EVIDENCE or not isinstance(cleaned, dict):
        return {"left_out": "too large to keep", "bytes": size}
    return cleaned or None


def _cleaned(value: object) -> object:
    match value:
        case str():
            return visible(value)
        case None | bool() | int():
            return value
        case Mapping():
            return {visible(str(name)): _cleaned(item) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_cleaned(item) for item in value]
    return visible(str(value))
