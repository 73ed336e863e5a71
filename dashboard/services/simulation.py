"""Back-testing a policy file: what the verdicts of the last days would have led to. Nothing is written."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from dashboard.adapters.expressions import ExpressionError, find
from dashboard.db import Database, clock, reading
from dashboard.domain.policy import Comparison, Policies, TypePolicy
from dashboard.domain.redaction import REDACTED
from dashboard.domain.replaying import Case, Change, Outcome, decide_again, difference, judged_then
from dashboard.domain.responses import Judgement, Reason
from dashboard.domain.verdicts import Verdict
from dashboard.queries.past_verdicts import past_verdicts
from dashboard.services.comparing import agree

COMPARED = frozenset({Reason.AGREES, Reason.DIFFERS, Reason.INCOMPARABLE})


@dataclass
class TypeSummary:
    """What became of the verdicts of one type; `kept` are those whose stored values no longer say what is compared."""

    replayed: int = 0
    kept: int = 0
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)


Summary = dict[str, TypeSummary]


def simulate(database: Database, *, old: Policies, new: Policies, days: int, tell: Callable[[Change], None]) -> Summary:
    """Decide every stored verdict of the last days under both policies, and tell each decision that changes."""
    with reading(database) as session:
        since = clock(session) - timedelta(days=days)
    summary: Summary = {}
    for case in past_verdicts(database, since):
        counted = summary.setdefault(case.type, TypeSummary())
        counted.replayed += 1
        change = _replay(case, old=old, new=new, counted=counted)
        if change:
            counted.changes[_way(change.old), _way(change.new)] += 1
            tell(change)
    return summary


def _way(outcome: Outcome) -> str:
    return f"{outcome.decision.step.value} (noted)" if outcome.noted else outcome.decision.step.value


def _replay(case: Case, *, old: Policies, new: Policies, counted: TypeSummary) -> Change | None:
    written = old.of(case.type)
    then = judged_then(case)
    now = _judged_again(case, then, written, new.of(case.type))
    counted.kept += now is None
    before = decide_again(case, then, old, written=written)
    return difference(case, before, decide_again(case, now or then, new, written=written))


def _judged_again(case: Case, then: Judgement, old: TypePolicy, new: TypePolicy) -> Judgement | None:
    """The verdict under the new comparison; None where what was stored does not say."""
    if old.compare == new.compare or then.reason not in COMPARED:
        return then
    sides = [_sides(case.evidence, rule, old) for rule in new.compare]
    values = [each for each in sides if each is not None]
    if len(values) < len(sides):
        return None
    pairs = zip(new.compare, values, strict=True)
    if all(agree(rule, wanted, seen) for rule, (wanted, seen) in pairs):
        return Judgement(Verdict.CORRECT, Reason.AGREES)
    return Judgement(Verdict.DIVERGENT, Reason.DIFFERS)


def _sides(evidence: Mapping[str, object], rule: Comparison, old: TypePolicy) -> tuple[object, object] | None:
    """Expected and actual value of a field as stored; None where one of them is not known any more."""
    try:
        wanted, seen = find(rule.expected, evidence.get("expected")), _seen(evidence, rule, old)
    except (ExpressionError, KeyError):
        return None
    return None if wanted is None or REDACTED in (wanted, seen) else (wanted, seen)


def _seen(evidence: Mapping[str, object], rule: Comparison, old: TypePolicy) -> object:
    """What the destination showed: by the name of the field if it was compared, else in the whole of the candidate."""
    stored = {one.get("field"): one.get("actual") for one in _differences(evidence)}
    if not stored:
        return _in_candidate(evidence.get("actual"), rule)
    same = any((each.field, each.actual) == (rule.field, rule.actual) for each in old.compare)
    if not same:
        raise KeyError(rule.field)
    return stored[rule.field]


def _in_candidate(actual: object, rule: Comparison) -> object:
    """The field in what was kept of the candidate, which may be under the names of the comparison of then."""
    found = find(rule.actual, actual)
    if found is None and isinstance(actual, Mapping):
        found = actual.get(rule.field)
    if found is None:
        raise KeyError(rule.field)
    return found


def _differences(evidence: Mapping[str, object]) -> list[Mapping[str, object]]:
    found = evidence.get("differences")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
