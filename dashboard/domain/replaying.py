"""What a verdict of the past would lead to under other policies: the same case, decided twice.

Replayed are responses, attempts, deadlines, modes and comparisons. When a destination is asked, and how old its answer
may be, is not: another window would have brought other answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dashboard.domain.policy import Mode, Policies, TypePolicy
from dashboard.domain.responses import Decision, Judgement, Reason, Standing, decide
from dashboard.domain.states import State
from dashboard.domain.verdicts import Verdict


class Why(StrEnum):
    """Which part of the policy makes the difference."""

    MODE = "mode"
    COMPARISON = "comparison"
    ATTEMPTS = "attempts"
    DEADLINE = "deadline"
    PROOF = "proof"
    RESPONSE = "response"


@dataclass(frozen=True)
class Case:
    """One stored verdict, with the operation as it stood then; `deadline_at` is today's."""

    operation_id: str
    type: str
    destination: str
    at: datetime
    state: State
    attempts: int
    created_at: datetime
    deadline_at: datetime
    verdict: Verdict
    evidence: Mapping[str, object]


@dataclass(frozen=True)
class Outcome:
    """What a policy makes of a case; `acts` is False where it would only be noted."""

    judged: Judgement
    decision: Decision
    acts: bool

    @property
    def done(self) -> tuple[object, ...]:
        """What really happens, to be compared."""
        return self.decision.step, self.decision.target, self.noted

    @property
    def noted(self) -> bool:
        """Whether something would be changed, if only the policy acted."""
        return self.decision.target is not None and not self.acts


@dataclass(frozen=True)
class Change:
    """A decision that would be another one."""

    case: Case
    old: Outcome
    new: Outcome
    why: Why


_OF_REASON = {
    Reason.ATTEMPTS_USED_UP: Why.ATTEMPTS,
    Reason.PAST_DEADLINE: Why.DEADLINE,
    Reason.UNPROVEN: Why.PROOF,
}
_PLAIN = {
    Verdict.CORRECT: Reason.AGREES,
    Verdict.ABSENT: Reason.ABSENT,
    Verdict.DIVERGENT: Reason.DIFFERS,
    Verdict.NOT_APPLICABLE: Reason.CANCELLED,
}


def judged_then(case: Case) -> Judgement:
    """The verdict with its reason, which imported history does not name."""
    named = case.evidence.get("reason")
    if named in list(Reason):
        return Judgement(case.verdict, Reason(str(named)))
    candidates = case.evidence.get("candidates")
    several = isinstance(candidates, int) and candidates > 1
    return Judgement(case.verdict, _PLAIN.get(case.verdict, Reason.SEVERAL if several else Reason.FAILED))


def decide_again(case: Case, judged: Judgement, policies: Policies, *, written: TypePolicy) -> Outcome:
    """Decide a case under some policies; `written` is the policy that set the operation's deadline, if any did."""
    policy = policies.of(case.type)
    by_policy = case.deadline_at - case.created_at == written.deadline
    deadline_at = case.created_at + policy.deadline if by_policy else case.deadline_at
    standing = Standing(
        state=case.state,
        attempts=case.attempts,
        overdue=deadline_at <= case.at,
        repeatable=bool(policies.honours_key(case.destination)) or bool(policy.visibility_lag),
    )
    return Outcome(judged, decide(judged, standing, policy), policy.mode is Mode.ACT)


def difference(case: Case, old: Outcome, new: Outcome) -> Change | None:
    """The change between two outcomes and what makes it, or None where the same happens."""
    return None if old.done == new.done else Change(case, old, new, _why(old, new))


def _why(old: Outcome, new: Outcome) -> Why:
    if old.judged.verdict is not new.judged.verdict:
        return Why.COMPARISON
    if (old.decision.step, old.decision.target) == (new.decision.step, new.decision.target):
        return Why.MODE
    for reason in (new.decision.reason, old.decision.reason):
        if reason in _OF_REASON:
            return _OF_REASON[reason]
    return Why.RESPONSE
