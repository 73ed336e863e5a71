"""Second people: how many must approve an action, who of them must be able to what, and what exactly they approve."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from types import MappingProxyType

from dashboard.domain.actions import OVERRIDE, ActionName
from dashboard.domain.chain import canonical_bytes
from dashboard.domain.permissions import Permission
from dashboard.domain.policy import TypePolicy

DOMAIN_TAG = b"operations-dashboard/approval/v1"


class Vote(StrEnum):
    """What a person decides about a proposed action."""

    APPROVE = "approve"
    REJECT = "reject"
    WITHDRAW = "withdraw"


class ActionState(StrEnum):
    """How far an action got; only `proposed` waits for anybody."""

    PROPOSED = "proposed"
    EXECUTED = "executed"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    VOID = "void"


class DemandReason(StrEnum):
    """Why a second person must agree; the edges put it into words."""

    POLICY = "policy"
    ABOVE_LIMIT = "above_limit"
    LIMIT_UNKNOWN = "limit_unknown"
    OVERRIDE = "override"
    ROLE = "role"


@dataclass(frozen=True)
class Demand:
    """How many approvals are needed; each permission of `special` must be held by at least one who approves."""

    approvals: int = 0
    special: frozenset[Permission] = frozenset()
    reasons: tuple[DemandReason, ...] = ()

    def asks_more_than(self, other: "Demand") -> bool:
        """Tell whether what satisfied the other one could fall short of this one."""
        return self.approvals > other.approvals or not self.special <= other.special


@dataclass(frozen=True)
class Wish:
    """What is asked for, as far as it decides who must agree; `executes` tells whether the person may do it alone."""

    action: ActionName
    reason_code: str
    amount: str | None
    currency: str | None
    executes: bool


# What a person must be able to do to ask for an action at all; who may execute may ask.
ASKING: Mapping[ActionName, Permission] = MappingProxyType(
    {
        **dict.fromkeys(ActionName, Permission.PROPOSE),
        ActionName.ESCALATE: Permission.ESCALATE,
        ActionName.REOPEN: Permission.REOPEN,
    }
)


def demand_for(policy: TypePolicy, wish: Wish) -> Demand:
    """Work out who must agree; where something is not known, a manager must (design section 9)."""
    if wish.action is ActionName.ESCALATE:
        return Demand()
    needed = policy.approvals.needed.get(wish.action.value, 0)
    reasons = [DemandReason.POLICY] if needed else []
    special: set[Permission] = set()
    if limit := _over_limit(policy, wish):
        reasons.append(limit)
        special.add(Permission.APPROVE_ABOVE_LIMIT)
    if wish.reason_code == OVERRIDE:
        reasons.append(DemandReason.OVERRIDE)
        special.add(Permission.OVERRIDE)
    if not wish.executes:
        reasons.append(DemandReason.ROLE)
    return Demand(max(needed, 1) if reasons else 0, frozenset(special), tuple(reasons))


def binding(
    *,
    action: str,
    operation_id: str,
    revision: int,
    reason_code: str,
    note: str,
    reference: str | None,
    amount: str | None,
    policy_hash: str | None,
) -> str:
    """Return the SHA-256 of all that is approved: whoever approves agrees to this and to nothing else."""
    fields = (
        ("action", action),
        ("operation_id", operation_id),
        ("revision", revision),
        ("reason_code", reason_code),
        ("note", note),
        ("reference", reference),
        ("amount", amount),
        ("policy_hash", policy_hash),
    )
    return hashlib.sha256(DOMAIN_TAG + canonical_bytes(None, fields)).hexdigest()


def _over_limit(policy: TypePolicy, wish: Wish) -> DemandReason | None:
    limits = policy.approvals.manager_above
    if not limits or (wish.amount is None and not policy.financial):
        return None
    amount, limit = _decimal(wish.amount), limits.get(wish.currency or "")
    if amount is None or limit is None:
        return DemandReason.LIMIT_UNKNOWN
    return DemandReason.ABOVE_LIMIT if abs(amount) > limit else None


def _decimal(text: str | None) -> Decimal | None:
    try:
        number = Decimal(text or "")
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
