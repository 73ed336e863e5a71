"""Answering from what a destination sent by itself: the probes `file` and `receipt`.

The newest word about each effect counts. Two effects without an id of their own are two: a line that stands twice in a
file may be a second charge. A word that denies the effect is an answer as well; that nothing came proves nothing,
unless policy says that the files name everything.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from dashboard.adapters.expressions import ExpressionError, find, holds
from dashboard.domain.answers import Answer, Question, failure
from dashboard.domain.evidence_sources import EvidenceFile, Receipts
from dashboard.domain.policy import Destination, ProbeRule
from dashboard.domain.received import Received, Source

MOST_NAMED = 20
NEVER = datetime.min.replace(tzinfo=UTC)


def answer_from(
    items: Sequence[Received],
    rule: ProbeRule,
    destination: Destination,
    question: Question,
    *,
    covered_until: datetime | None,
) -> Answer:
    """Say what the items, in the order in which they came, show of the operation.

    `covered_until` is the time up to which the destination's files reach, None where they carry no times.
    """
    source = Source(rule.kind)
    newest = _newest(items, source)
    try:
        if not newest:
            return _silence(rule, question, source, covered_until)
        return _answer(newest, rule, destination, question)
    except ExpressionError as error:
        return failure("expression_failed", str(error))


def _newest(items: Sequence[Received], source: Source) -> list[Received]:
    """The last word about each effect; items of the other kind count where both kinds give their effects ids."""
    own = [item for item in items if item.source is source]
    if own and all(item.remote_id for item in own):
        own = [item for item in items if item.source is source or item.remote_id]
    latest: dict[str, Received] = {}
    for item in sorted(own, key=lambda item: item.occurred_at or NEVER):
        latest[f"remote {item.remote_id}" if item.remote_id else f"event {item.event_id}"] = item
    return list(latest.values())


def _silence(rule: ProbeRule, question: Question, source: Source, covered_until: datetime | None) -> Answer:
    if source is Source.RECEIPT:
        return Answer(as_of=question.now, authoritative=False)
    as_of = min(covered_until, question.now) if covered_until else None
    return Answer(as_of=as_of, authoritative=rule.settings.get("authoritative") is True)


def _answer(newest: Sequence[Received], rule: ProbeRule, destination: Destination, question: Question) -> Answer:
    shown = [item for item in newest if _is_present(item, destination)]
    return Answer(
        candidates=tuple(item.content for item in shown),
        as_of=question.now if shown else _denied_at(newest, question),
        cancelled=all(_is_cancelled(item, rule, destination) for item in newest),
        superseded=all(holds(_expression(rule, "superseded"), item.content) for item in newest),
        raw_hash=newest[0].raw_hash if len(newest) == 1 else None,
        remote_id=_remote_id(shown[0], rule) if len(shown) == 1 else None,
        received=tuple(item.told() for item in newest[:MOST_NAMED]),
    )


def _denied_at(newest: Sequence[Received], question: Question) -> datetime | None:
    """When the effect was last denied; a word without a time may be about an earlier sending."""
    times = [item.occurred_at for item in newest if item.occurred_at]
    return min(max(times), question.now) if times else None


def _says(item: Received, destination: Destination) -> EvidenceFile | Receipts | None:
    return destination.evidence if item.source is Source.FILE else destination.receipts


def _is_present(item: Received, destination: Destination) -> bool:
    says = _says(item, destination)
    return says is None or says.present is None or holds(says.present, item.content)


def _is_cancelled(item: Received, rule: ProbeRule, destination: Destination) -> bool:
    says = _says(item, destination)
    called_off = says is not None and holds(says.cancelled, item.content)
    return called_off or holds(_expression(rule, "cancelled"), item.content)


def _remote_id(item: Received, rule: ProbeRule) -> str | None:
    expression = _expression(rule, "remote_id")
    found = find(expression, item.content) if expression else item.remote_id
    return found if isinstance(found, str) and found else None


def _expression(rule: ProbeRule, name: str) -> str | None:
    given = rule.settings.get(name)
    return given if isinstance(given, str) else None
