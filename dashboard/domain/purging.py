"""What is left of a piece of evidence once it is purged."""

from collections.abc import Mapping
from typing import Any

PURGED = "purged"
# What figures and histories are made of; none of it is anybody's data.
STAYS = ("verdict", "found", "candidates", "as_of", "raw_hash")


def reduced(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Leave the verdict and the hash of what was seen, and the mark that the rest is gone."""
    return {name: evidence[name] for name in STAYS if name in evidence} | {PURGED: True}


def is_whole(evidence: object) -> bool:
    """Tell whether there is evidence that has not been purged."""
    return isinstance(evidence, Mapping) and bool(evidence) and PURGED not in evidence
