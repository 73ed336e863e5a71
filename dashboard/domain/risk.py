"""How likely an action is to multiply an effect, with the reasons a person should weigh."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from dashboard.domain.actions import ActionName
from dashboard.domain.states import Cause
from dashboard.domain.verdicts import Verdict


class Risk(StrEnum):
    """The level of duplication risk, from low to high."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class RiskReason(StrEnum):
    """Why the risk is what it is; the edges put it into words."""

    SENDS_NOTHING = "sends_nothing"
    EFFECT_PROVEN_ABSENT = "effect_proven_absent"
    EFFECT_SEEN = "effect_seen"
    EFFECT_EXISTS = "effect_exists"
    EFFECT_DIFFERS = "effect_differs"
    EFFECT_UNWANTED = "effect_unwanted"
    EFFECT_UNPROVEN = "effect_unproven"
    EFFECT_MISSING = "effect_missing"
    PROOF_STALE = "proof_stale"
    NEVER_CHECKED = "never_checked"
    ANSWER_UNKNOWN = "answer_unknown"
    NEVER_STARTED = "never_started"
    SEVERAL_ATTEMPTS = "several_attempts"
    REMOTE_ID_KNOWN = "remote_id_known"
    KEY_HONOURED = "key_honoured"
    KEY_NOT_HONOURED = "key_not_honoured"
    KEY_SUPPORT_UNKNOWN = "key_support_unknown"


@dataclass(frozen=True)
class RiskAssessment:
    """A level and the reasons behind it, the weightiest first."""

    level: Risk
    reasons: tuple[RiskReason, ...]


@dataclass(frozen=True)
class _Proof:
    cause: Cause | None
    verdict: Verdict | None
    fresh: bool
    attempts: int
    remote_id: str | None
    honours_key: bool | None


_Weighed = tuple[Risk, RiskReason]
_WEIGHT = {level: weight for weight, level in enumerate(Risk)}
_SENDING = frozenset({ActionName.REQUEUE, ActionName.COMPENSATE})


def assess_duplication(
    action: ActionName,
    *,
    cause: Cause | None,
    verdict: Verdict | None,
    verdict_age: timedelta | None,
    freshness: timedelta,
    attempts: int,
    remote_id: str | None,
    honours_idempotency_key: bool | None,
) -> RiskAssessment:
    """Assess whether doing this now could make an effect happen twice, or undo one that never was.

    A verdict counts as fresh up to `freshness`; without an age it never does. Where the destination
    honours our idempotency key an unknown weighs less, but an effect that is seen weighs the same.
    """
    if action not in _SENDING:
        return RiskAssessment(Risk.LOW, (RiskReason.SENDS_NOTHING,))
    fresh = verdict_age is not None and verdict_age <= freshness
    proof = _Proof(cause, verdict, fresh, attempts, remote_id or None, honours_idempotency_key)
    weigh = _weigh_requeue if action is ActionName.REQUEUE else _weigh_compensation
    found = sorted(weigh(proof), key=lambda weighed: -_WEIGHT[weighed[0]])
    return RiskAssessment(found[0][0], tuple(reason for _, reason in found))


def _weigh_requeue(proof: _Proof) -> Iterator[_Weighed]:
    if proof.verdict is Verdict.CORRECT:
        yield Risk.HIGH, RiskReason.EFFECT_EXISTS
    elif proof.verdict is Verdict.DIVERGENT:
        yield Risk.HIGH, RiskReason.EFFECT_DIFFERS
    elif proof.verdict is Verdict.NOT_APPLICABLE:
        yield Risk.HIGH, RiskReason.EFFECT_UNWANTED
    elif proof.verdict is Verdict.ABSENT and proof.fresh:
        yield Risk.LOW, RiskReason.EFFECT_PROVEN_ABSENT
    else:
        yield from _weigh_unproven(proof)
    if proof.remote_id:
        yield Risk.HIGH if not proof.fresh else Risk.MEDIUM, RiskReason.REMOTE_ID_KNOWN


def _weigh_unproven(proof: _Proof) -> Iterator[_Weighed]:
    unknown = Risk.MEDIUM if proof.honours_key else Risk.HIGH
    yield _missing_proof(proof, unknown)
    yield _attempted(proof, unknown)
    if proof.attempts > 1:
        yield Risk.MEDIUM, RiskReason.SEVERAL_ATTEMPTS
    yield _key_support(proof)


def _missing_proof(proof: _Proof, unknown: Risk) -> _Weighed:
    if proof.verdict is Verdict.ABSENT:
        return Risk.MEDIUM, RiskReason.PROOF_STALE
    if proof.verdict is None:
        return Risk.MEDIUM, RiskReason.NEVER_CHECKED
    return unknown, RiskReason.EFFECT_UNPROVEN


def _attempted(proof: _Proof, unknown: Risk) -> _Weighed:
    if proof.cause is Cause.SENT_UNKNOWN or (proof.cause is None and proof.attempts):
        return unknown, RiskReason.ANSWER_UNKNOWN
    return Risk.LOW, RiskReason.NEVER_STARTED


def _key_support(proof: _Proof) -> _Weighed:
    if proof.honours_key is None:
        return Risk.MEDIUM, RiskReason.KEY_SUPPORT_UNKNOWN
    if proof.honours_key:
        return Risk.LOW, RiskReason.KEY_HONOURED
    return Risk.MEDIUM, RiskReason.KEY_NOT_HONOURED


def _weigh_compensation(proof: _Proof) -> Iterator[_Weighed]:
    seen = proof.verdict in {Verdict.CORRECT, Verdict.DIVERGENT}
    if proof.verdict is Verdict.ABSENT:
        yield Risk.HIGH, RiskReason.EFFECT_MISSING
    elif seen:
        yield Risk.LOW, RiskReason.EFFECT_SEEN
    else:
        yield Risk.MEDIUM, RiskReason.EFFECT_UNPROVEN if proof.verdict else RiskReason.NEVER_CHECKED
    if seen and not proof.fresh:
        yield Risk.MEDIUM, RiskReason.PROOF_STALE
