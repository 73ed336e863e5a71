"""Plans: one decision about many operations, what exactly it is about, and how fast it may go."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation, localcontext
from enum import StrEnum
from math import ceil

from dashboard.domain.actions import OVERRIDE, REASON_CODES, ActionName
from dashboard.domain.approval import Demand, DemandReason
from dashboard.domain.chain import canonical_bytes
from dashboard.domain.errors import Problem
from dashboard.domain.permissions import Permission

DOMAIN_TAG = b"operations-dashboard/bulk-plan/v1"
MOST_ROWS = 10_000
FASTEST_RATE = 60_000
# A draft nobody sent is looked at again before it is, or made anew.
DRAFT_LASTS = timedelta(hours=24)
ROWS_AT_ONCE = 50
# Ten thousand amounts of 30 digits; the default of 28 would round them.
LONGEST_SUM = 60
# With a rate, rows go in as many small portions as a minute has of these.
PORTION_SECONDS = 5
WHOLE_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


class PlanState(StrEnum):
    """How far a plan got; only `running` does anything."""

    DRAFT = "draft"
    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    DONE = "done"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    VOID = "void"


class RowOutcome(StrEnum):
    """What became of one row; each row has exactly one of these, so the sums always add up."""

    LEFT = "left"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    INELIGIBLE = "ineligible"


class Step(StrEnum):
    """What people decide about a plan."""

    START = "start"
    APPROVE = "approve"
    REJECT = "reject"
    WITHDRAW = "withdraw"
    STOP = "stop"
    RESUME = "resume"


STANDING = frozenset({PlanState.RUNNING, PlanState.PAUSED, PlanState.STOPPED})


@dataclass(frozen=True)
class Speed:
    """How many rows go first, and how many a minute; None for no limit."""

    canary: int | None = None
    rate: int | None = None


def reasons(action: ActionName) -> tuple[str, ...]:
    """The reasons for a plan: sending again without proof is decided one operation at a time."""
    return tuple(code for code in REASON_CODES[action] if code != OVERRIDE)


def read_speed(*, canary: str | None, rate: str | None) -> tuple[Speed, tuple[Problem, ...]]:
    """Read what a form says about the speed; empty is no limit."""
    numbers: list[int | None] = []
    problems: list[Problem] = []
    for field, sent, most in (("canary", canary, MOST_ROWS), ("rate", rate, FASTEST_RATE)):
        text = (sent or "").strip()
        number = int(text) if WHOLE_NUMBER.fullmatch(text) else None
        if text and (number is None or not 1 <= number <= most):
            problems.append(Problem(field, "number_invalid", {"minimum": 1, "maximum": most}))
        numbers.append(number)
    return Speed(*numbers), tuple(problems)


def portion(*, rate: int | None, canary: int | None, settled: int) -> int:
    """How many rows go now; 0 where somebody must look at the first ones before more go."""
    size = ROWS_AT_ONCE if rate is None else min(ROWS_AT_ONCE, ceil(rate * PORTION_SECONDS / 60))
    return size if canary is None else max(0, min(size, canary - settled))


def pause_after(rows: int, *, rate: int | None) -> timedelta:
    """How long to wait after so many rows, so that a minute never has more than the rate."""
    return timedelta(seconds=rows * 60 / rate) if rate else timedelta()


def exact_amount(text: str | None) -> Decimal | None:
    """The amount as a number; None where there is none, or where a host wrote what is none."""
    try:
        number = Decimal(text or "")
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """Add amounts without losing a digit, however many there are."""
    with localcontext(prec=LONGEST_SUM):
        return sum(amounts, Decimal())


def strictest(demands: Iterable[Demand]) -> Demand:
    """Who must agree to all of these at once."""
    approvals = 0
    special: set[Permission] = set()
    why: dict[DemandReason, None] = {}
    for demand in demands:
        approvals = max(approvals, demand.approvals)
        special |= demand.special
        why |= dict.fromkeys(demand.reasons)
    return Demand(approvals, frozenset(special), tuple(why))


def binding(
    *,
    action: str,
    reason_code: str,
    note: str,
    reference: str | None,
    policy_hash: str | None,
    rows: Iterable[tuple[int, int]],
) -> str:
    """Return the SHA-256 of all that is approved: the action, the evidence, and each operation at its revision."""
    head = (
        ("action", action),
        ("reason_code", reason_code),
        ("note", note),
        ("reference", reference),
        ("policy_hash", policy_hash),
    )
    digest = hashlib.sha256(DOMAIN_TAG + canonical_bytes(None, head))
    for operation, revision in rows:
        digest.update(canonical_bytes(None, (("operation", operation), ("revision", revision))))
    return digest.hexdigest()
