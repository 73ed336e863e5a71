"""What is left of a piece of evidence once it is purged."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

PURGED = "purged"
DIGEST = "sha256"
# What figures and histories are made of; none of it is anybody's data.
STAYS = ("verdict", "found", "candidates", "as_of", "raw_hash")


def reduced(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Leave the verdict and the hash of what was seen, and the mark that the rest is gone."""
    left = {name: evidence[name] for name in STAYS if name in evidence}
    return left | {PURGED: True, DIGEST: evidence_digest(evidence)}


def evidence_digest(evidence: Mapping[str, Any] | None) -> str | None:
    """The hash of a piece of evidence as it was before it was purged, so that digests over it stay provable."""
    if evidence is None or PURGED in evidence:
        return (evidence or {}).get(DIGEST)
    text = json.dumps(evidence, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def is_whole(evidence: object) -> bool:
    """Tell whether there is evidence that has not been purged."""
    return isinstance(evidence, Mapping) and bool(evidence) and PURGED not in evidence
