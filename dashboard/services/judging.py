"""From an answer to a verdict with its evidence: what was expected, what was seen, and why that is the verdict."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from dashboard.domain.answers import Answer, Question
from dashboard.domain.policy import TypePolicy
from dashboard.domain.redaction import REDACTED, both_sides, redact
from dashboard.domain.responses import Judgement, Reason, judge
from dashboard.domain.verdicts import Observation, Verdict
from dashboard.services.comparing import Compared, compare

NO_PROBE = "no_probe"
MOST_ITEMS = 50
LONGEST_TEXT = 500
DEEPEST = 6
LARGEST_NUMBER = 10**30


@dataclass(frozen=True)
class Background:
    """What was known before the look: an earlier miss that counts, and whether a newer version is confirmed."""

    honours_key: bool = False
    missed_at: datetime | None = None
    newer_confirmed: bool = False


@dataclass(frozen=True)
class Look:
    """A judged answer; `evidence` is what is stored, with its secrets taken out."""

    judged: Judgement
    answer: Answer
    evidence: Mapping[str, object] = field(default_factory=dict)


def judge_answer(question: Question, answer: Answer, *, policy: TypePolicy, background: Background) -> Look:
    """Compare, classify and put the evidence together."""
    compared = _compare(question, answer, policy)
    judged = _judge(question, answer, compared, policy=policy, background=background)
    return Look(judged, answer, _evidence(question, answer, compared, judged=judged, policy=policy))


def _compare(question: Question, answer: Answer, policy: TypePolicy) -> Compared:
    if answer.failed or len(answer.candidates) != 1:
        return Compared()
    return compare(policy.compare, expected=question.expected, candidate=answer.candidates[0])


def _judge(
    question: Question, answer: Answer, compared: Compared, *, policy: TypePolicy, background: Background
) -> Judgement:
    observation = Observation(
        candidates=len(answer.candidates),
        as_of=answer.as_of,
        sent_at=question.sent_at,
        # What the destination says by itself is about this very effect: no lag of its views hides it.
        visibility_lag=timedelta() if answer.received and answer.candidates else policy.visibility_lag,
        cancelled=answer.cancelled,
        superseded=answer.superseded,
        failed=answer.failed is not None,
        partial=answer.partial or compared.incomparable is not None,
        differs=compared.differs,
        authoritative=answer.authoritative,
        # Where a second request makes no second effect, one fresh miss is proof enough.
        lagging=bool(policy.visibility_lag) and not background.honours_key,
        missed_at=background.missed_at,
    )
    judged = judge(observation)
    if answer.failed == NO_PROBE:
        judged = Judgement(Verdict.AMBIGUOUS, Reason.NO_PROBE)
    elif compared.incomparable and judged.reason is Reason.PARTIAL:
        judged = Judgement(Verdict.AMBIGUOUS, Reason.INCOMPARABLE)
    if background.newer_confirmed and _may_be_superseded(judged, policy):
        return Judgement(Verdict.NOT_APPLICABLE, Reason.SUPERSEDED)
    return judged


def _may_be_superseded(judged: Judgement, policy: TypePolicy) -> bool:
    """A newer version makes an older copy needless; money that may have moved is never waved through like that."""
    return judged.verdict is Verdict.ABSENT or not policy.financial


def _evidence(
    question: Question, answer: Answer, compared: Compared, *, judged: Judgement, policy: TypePolicy
) -> dict[str, object]:
    hidden = frozenset(_hidden_fields(policy.redact))
    evidence: dict[str, object] = {
        "verdict": judged.verdict.value,
        "reason": judged.reason.value,
        "expected": storable(question.expected),
        "actual": storable(_actual(answer, compared)),
        "candidates": len(answer.candidates),
        "found": None if answer.failed or answer.partial else len(answer.candidates),
        "authoritative": answer.authoritative,
        "as_of": answer.as_of.isoformat() if answer.as_of else None,
        "status": answer.status,
        "remote_id": answer.remote_id,
        "raw_hash": answer.raw_hash,
        "differences": [
            {
                "field": one.path,
                "expected": REDACTED if one.path in hidden else storable(one.expected),
                "actual": REDACTED if one.path in hidden else storable(one.actual),
                "differs": one.differs,
            }
            for one in compared.fields
        ],
        "received": storable(answer.received) if answer.received else None,
        "failed": answer.failed,
        "detail": storable(answer.detail or compared.incomparable),
    }
    told = redact(
        {name: value for name, value in evidence.items() if value is not None}, paths=both_sides(policy.redact)
    )
    return dict(told) if isinstance(told, Mapping) else {}


def _hidden_fields(paths: Iterable[str]) -> Iterable[str]:
    """What policy hides of either side is as private where the two are set side by side."""
    for path in paths:
        side, _, name = path.partition(".")
        if name and side in {"expected", "actual"}:
            yield name


def _actual(answer: Answer, compared: Compared) -> Mapping[str, object] | None:
    if answer.failed or len(answer.candidates) != 1:
        return None
    return compared.actual() or answer.candidates[0]


def storable(value: object, depth: int = 0) -> object:
    """A copy that every engine can keep as JSON and people can read: exact, without NUL, and not endless."""
    match value:
        case str():
            text = value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + "…"
            return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
        case bool() | None:
            return value
        case int():
            return value if abs(value) < LARGEST_NUMBER else str(value)[:LONGEST_TEXT]
        case float() | Decimal():
            return str(value)[:LONGEST_TEXT]
    if depth >= DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        pairs = list(value.items())[:MOST_ITEMS]
        return {str(storable(str(name))): storable(item, depth + 1) for name, item in pairs}
    if isinstance(value, list | tuple):
        return [storable(item, depth + 1) for item in value[:MOST_ITEMS]]
    return str(storable(str(value)))
