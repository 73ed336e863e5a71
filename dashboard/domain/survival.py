"""How long something takes where not all have arrived yet: the Kaplan-Meier estimate.

Source: Kaplan and Meier, "Nonparametric estimation from incomplete observations", Journal of the American Statistical
Association 53 (1958). What has not arrived is kept as "longer than this" instead of being left out, which would make
the rest look fast. Where nothing is missing the estimate is the share that naive counting gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

# Shares are products of floats; two that differ by rounding alone are the same share.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Duration:
    """How long one took, or, where it is `censored`, how long it was watched without arriving."""

    length: timedelta
    censored: bool = False


@dataclass(frozen=True)
class Step:
    """From `length` on, this share (0 to 1) is still on its way."""

    length: timedelta
    surviving: float


def survival(durations: Sequence[Duration]) -> tuple[Step, ...]:
    """The share still on its way after each length at which one arrived, shortest first."""
    # Of equal lengths the arrivals come first: what was watched for so long was still at risk then.
    ordered = sorted(durations, key=lambda duration: (duration.length, duration.censored))
    steps: list[Step] = []
    surviving = 1.0
    for position, duration in enumerate(ordered):
        if duration.censored:
            continue
        at_risk = len(ordered) - position
        surviving *= (at_risk - 1) / at_risk
        if steps and steps[-1].length == duration.length:
            steps.pop()
        steps.append(Step(duration.length, surviving))
    return tuple(steps)


def percentile(steps: Sequence[Step], share: float) -> timedelta | None:
    """The shortest length by which at least this share (0 to 1) has arrived; None where too many have not."""
    for step in steps:
        if step.surviving <= 1 - share + ROUNDING:
            return step.length
    return None
