"""The history of an operation as a screen shows it: a title for each event, who did it, and its evidence as text."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashboard.domain.masking import Hiding, hide, hide_text
from dashboard.domain.states import EventKind
from dashboard.queries.history import TimelineEntry
from dashboard.web.labels import label
from dashboard.web.language import gettext

SHOWN_EVIDENCE = 4000


@dataclass(frozen=True)
class Row:
    """One event in words; `state` and `verdict` choose its colour, `cut` says that the event's page has more."""

    seq: int
    at: datetime
    title: str
    by: str
    basis: str
    reason: str
    evidence: str
    cut: bool
    policy_hash: str | None
    state: str | None = None
    verdict: str | None = None


def timeline_rows(entries: Iterable[TimelineEntry], *, hidden: Hiding) -> list[Row]:
    """Give the events in words, their evidence cut to what can be read in passing."""
    return [event_row(entry, hidden=hidden, longest=SHOWN_EVIDENCE) for entry in entries]


def event_row(entry: TimelineEntry, *, hidden: Hiding, longest: int | None = None) -> Row:
    """Give one event in words; secrets are taken out again, whoever stored them, and masked fields masked."""
    told = hide(entry.evidence, hidden) if isinstance(entry.evidence, Mapping) else {}
    evidence = _evidence(entry, told)
    verdict = told.get("verdict") if entry.kind == EventKind.PROBE else None
    return Row(
        seq=entry.seq,
        at=entry.at,
        title=_title(entry, told),
        by=" · ".join(part for part in (label("actor", entry.actor_kind), entry.actor_id) if part),
        basis=_basis(told),
        reason=hide_text(entry.reason or "", hidden),
        evidence=evidence[:longest],
        cut=entry.reason_cut or len(evidence) > len(evidence[:longest]),
        policy_hash=entry.policy_hash,
        state=entry.to_state,
        verdict=verdict if isinstance(verdict, str) else None,
    )


def _title(entry: TimelineEntry, told: Mapping[str, Any]) -> str:
    if entry.kind == EventKind.TRANSITION and entry.to_state:
        if entry.from_state is None:
            return gettext("Created as %(state)s", state=label("state", entry.to_state))
        return gettext("Moved to %(state)s", state=label("state", entry.to_state))
    detail = ""
    if entry.kind == EventKind.PROBE:
        detail = label("verdict", told.get("verdict"))
    elif entry.kind == EventKind.ATTEMPT:
        detail = label("cause", entry.cause)
    elif entry.kind == EventKind.ACTION:
        detail = label("action", told.get("action"))
        if told.get("proposed"):
            return gettext("Proposed: %(action)s", action=detail)
    elif entry.kind == EventKind.CLAIM:
        detail = label("action", told.get("claim"))
    elif entry.kind == EventKind.APPROVAL:
        detail = label("vote", told.get("vote")) or label("action_state", told.get("state"))
    kind = label("event", entry.kind)
    return gettext("%(event)s: %(detail)s", event=kind, detail=detail) if detail else kind


def _basis(told: Mapping[str, Any]) -> str:
    """Say on what a person based a decision: the reason they chose and the reference they gave."""
    if "reason_code" not in told:
        return ""
    return " · ".join(str(part) for part in (label("reason_code", told["reason_code"]), told.get("reference")) if part)


def _evidence(entry: TimelineEntry, told: Mapping[str, Any]) -> str:
    # A note's form key only keeps it from being added twice.
    kept = {name: value for name, value in told.items() if (entry.kind, name) != (EventKind.NOTE, "form")}
    return json.dumps(kept, ensure_ascii=False, indent=2, default=str) if kept else ""
