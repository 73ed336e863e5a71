"""Keeping evidence: each item once by destination and event id, with its operation where that is certain."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.orm import Session

from dashboard.domain.received import Match, Source
from dashboard.models import EvidenceItem
from dashboard.services.evidence_lines import EvidenceLine
from dashboard.services.evidence_matching import Matched, match_lines
from dashboard.services.import_rows import insert_or_ignore

ITEMS: Table = EvidenceItem.metadata.tables["evidence_items"]
KEY = ("destination", "event_id")


@dataclass(frozen=True)
class Arrival:
    """From where evidence comes: `origin` is the file's name or who signed."""

    destination: str
    source: Source
    origin: str


@dataclass(frozen=True)
class Kept:
    """What became of a line: how it matched, whether it was `new`, and whether it still waits to be judged.

    `changed` says that the same event id came before with another content, which is kept as it was.
    """

    line: EvidenceLine
    event_id: str
    matched: Matched
    new: bool
    unjudged: bool
    changed: bool = False


class Occurrences:
    """Names the lines of one file; about 100 bytes of memory for each different line without an id of its own."""

    def __init__(self, destination: str) -> None:
        self._destination = destination
        self._seen: Counter[bytes] = Counter()

    def event_id(self, line: EvidenceLine) -> str:
        """The line's own id, or one from what it says and how often that stood before: twice may be two effects."""
        if line.event_id is not None:
            return line.event_id
        short = bytes.fromhex(line.raw_hash)[:12]
        self._seen[short] += 1
        named = f"{self._destination}\0{line.raw_hash}\0{self._seen[short]}"
        return hashlib.sha256(named.encode()).hexdigest()


def keep(session: Session, arrival: Arrival, lines: Sequence[tuple[str, EvidenceLine]], *, now: datetime) -> list[Kept]:
    """Store lines under their event ids; one that is there and fitted no operation is matched once more."""
    matches = match_lines(session, arrival.destination, [line for _, line in lines])
    missing: dict[str, dict[str, Any]] = {}
    there = _items(session, arrival.destination, [event_id for event_id, _ in lines])
    for (event_id, line), matched in zip(lines, matches, strict=True):
        if event_id not in there:
            missing.setdefault(event_id, _row(arrival, event_id, line, matched, now))
    if missing:
        # Somebody else may store one of them meanwhile; then theirs stays.
        session.execute(insert_or_ignore(session, ITEMS, KEY), list(missing.values()))
        there |= _items(session, arrival.destination, list(missing))
    return [
        _kept(session, there[event_id], line, matched, new=missing.pop(event_id, None) is not None)
        for (event_id, line), matched in zip(lines, matches, strict=True)
    ]


def match_again(session: Session, item: EvidenceItem, matched: Matched) -> None:
    """Write down which operations an item fits now."""
    item.match = matched.match.value
    item.operation_id = matched.number
    session.flush()


def _items(session: Session, destination: str, event_ids: Sequence[str]) -> dict[str, EvidenceItem]:
    found = session.scalars(
        select(EvidenceItem).where(EvidenceItem.event_id.in_(event_ids), EvidenceItem.destination == destination)
    )
    return {item.event_id: item for item in found}


def _row(arrival: Arrival, event_id: str, line: EvidenceLine, matched: Matched, now: datetime) -> dict[str, Any]:
    return {
        "destination": arrival.destination,
        "event_id": event_id,
        "source": arrival.source.value,
        "operation_id": matched.number,
        "match": matched.match.value,
        "occurred_at": line.occurred_at,
        "received_at": now,
        "origin": arrival.origin,
        "line": line.number,
        "content": dict(line.content),
        "raw_hash": line.raw_hash,
    }


def _kept(session: Session, item: EvidenceItem, line: EvidenceLine, matched: Matched, *, new: bool) -> Kept:
    if not new and item.match != Match.MATCHED:
        match_again(session, item, matched)
    settled = Matched(Match(item.match), item.operation_id)
    unjudged = settled.match is Match.MATCHED and item.judged_at is None
    return Kept(line, item.event_id, settled, new=new, unjudged=unjudged, changed=item.raw_hash != line.raw_hash)
