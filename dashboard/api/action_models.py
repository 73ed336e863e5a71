"""Actions as programs send and read them."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from dashboard.api.answering import Answer, Links, Moment
from dashboard.api.operation_models import AMOUNT_PATTERN, Sent
from dashboard.api.problems import in_words
from dashboard.domain.actions import ActionName
from dashboard.domain.masking import Hiding, hide_text
from dashboard.services.previews import Preview

_SHOWN = ("tenant", "type", "action", "outcome", "reason_code", "risk", "requested_by", "requested_at", "executed_at")
Note = Annotated[str, Field(max_length=4000)]


class ActionWish(Sent):
    """What is asked for: `revision` is the one that was looked at; the note says why, in 15 characters or more."""

    action: ActionName
    revision: Annotated[int, Field(ge=1, le=2**31 - 1)]
    reason_code: Annotated[str, Field(min_length=1, max_length=32)]
    note: Note
    reference: Annotated[str, Field(max_length=1000)] | None = None
    amount: Annotated[str, Field(pattern=AMOUNT_PATTERN)] | None = None


class Performed(Answer):
    """What became of it: `executed`, or `proposed` where second people must agree."""

    action_id: int
    operation_id: str
    action: ActionName
    state: str
    child_operation_id: str | None


class Refusal(Answer):
    """Why an action cannot be done as things stand."""

    code: str
    detail: str


class ActionPreview(Answer):
    """What an action would do; `refusal` says why it cannot be done as things stand."""

    operation_id: str
    action: ActionName
    revision: int
    target: str | None
    reason_codes: list[str]
    risk: str
    risk_reasons: list[str]
    proof: str | None
    approvals_needed: int
    compensation_operation_id: str | None
    refusal: Refusal | None


class ActionRow(Answer):
    """An action as lists show it."""

    action_id: int
    operation_id: str
    tenant: str
    type: str
    action: str
    state: str
    outcome: str | None
    reason_code: str
    risk: str
    requested_by: str
    requested_at: Moment
    executed_at: Moment | None


class ActionPage(Links):
    """A page of actions, newest first."""

    items: list[ActionRow]

    @classmethod
    def of(cls, rows: Iterable[Any], links: Links) -> "ActionPage":
        items = [ActionRow.model_validate({**row._asdict(), "action_id": row.number}) for row in rows]
        return cls(items=items, **links.model_dump())


class ActionDetail(ActionRow):
    """One action with its evidence; `outcome` is `to_verify` until the effect is proven."""

    revision: int
    note: str
    reference: str | None
    amount: str | None
    approvals_needed: int
    child_operation_id: str | None

    @classmethod
    def of(cls, found: Any, hiding: Hiding) -> "ActionDetail":
        stored = found.Action
        names = (*_SHOWN, "revision", "amount")
        return cls(
            action_id=stored.id,
            operation_id=found.Operation.operation_id,
            state=str(found.state),
            approvals_needed=stored.needed,
            child_operation_id=found.child_operation_id,
            note=hide_text(stored.note, hiding),
            reference=hide_text(stored.reference, hiding) if stored.reference else stored.reference,
            **{name: getattr(stored, name) for name in names},
        )


class Ballot(Sent):
    """What is said to a decision; who rejects must say why."""

    note: Note | None = None


class Decision(Answer):
    """Where the proposal stands after the vote."""

    action_id: int
    operation_id: str
    vote: str
    state: str
    approvals: int
    needed: int


def preview_of(found: Preview) -> ActionPreview:
    """Tell a preview."""
    return ActionPreview(
        operation_id=found.operation.operation_id,
        action=found.action,
        revision=found.operation.revision,
        target=found.target.value if found.target else None,
        reason_codes=list(found.reasons),
        risk=found.risk.level.value,
        risk_reasons=[reason.value for reason in found.risk.reasons],
        proof=found.proof.value if found.proof else None,
        approvals_needed=found.demand.approvals,
        compensation_operation_id=found.compensation.operation_id if found.compensation else None,
        refusal=Refusal(code=found.refusal.code, detail=in_words(found.refusal)) if found.refusal else None,
    )
