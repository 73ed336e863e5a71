"""Plans for many operations as programs send and read them."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field
from werkzeug.datastructures import MultiDict

from dashboard.api.answering import Answer, Links, Moment
from dashboard.api.operation_models import OperationId, Sent
from dashboard.domain.actions import ActionName
from dashboard.domain.bulk import FASTEST_RATE, MOST_ROWS
from dashboard.domain.states import Cause, State
from dashboard.domain.verdicts import Verdict
from dashboard.edge.filters import MAX_TEXT
from dashboard.edge.operation_filters import LONGEST_NAME
from dashboard.queries.bulk import Amount, Reason, Sums

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
Note = Annotated[str, Field(max_length=4000)]
Names = Annotated[list[Name], Field(max_length=100)]


class PlanFilter(Sent):
    """What a list of operations is narrowed to, in the words of its query string; lists mean any of them.

    `none` among verdicts or causes means those without one. The tenant is the token's.
    """

    state: list[State] = Field(default_factory=list)
    type: Names = Field(default_factory=list)
    destination: Names = Field(default_factory=list)
    verdict: list[Verdict | Literal["none"]] = Field(default_factory=list)
    cause: list[Cause | Literal["none"]] = Field(default_factory=list)
    assigned: Text | None = None
    min_age: Text | None = None
    max_age: Text | None = None
    created_from: Text | None = None
    created_to: Text | None = None
    confirmed_from: Text | None = None
    confirmed_to: Text | None = None
    overdue: bool = False
    exceptions: bool = False
    q: Text | None = None

    def as_query(self) -> MultiDict[str, str]:
        """The same as the query string of a list; `exceptions` is a list of its own there."""
        said = self.model_dump(exclude={"overdue", "exceptions"}, exclude_none=True)
        query: MultiDict[str, str] = MultiDict(said)
        if self.overdue:
            query.add("overdue", "1")
        return query


class PlanWish(Sent):
    """An action for many: either the ids of the operations, or a filter that finds them; 10,000 at most."""

    action: ActionName
    operation_ids: Annotated[list[OperationId], Field(min_length=1, max_length=MOST_ROWS)] | None = None
    filter: PlanFilter | None = None


class PlanStart(Sent):
    """The evidence, and how fast it may go: `canary` rows first, `rate` rows a minute; null for no limit."""

    reason_code: Annotated[str, Field(min_length=1, max_length=32)]
    note: Note
    reference: Annotated[str, Field(max_length=1000)] | None = None
    canary: Annotated[int, Field(ge=1, le=MOST_ROWS)] | None = None
    rate: Annotated[int, Field(ge=1, le=FASTEST_RATE)] | None = None


class PlanMade(Answer):
    """The draft: `total` operations lie in it, `unknown` of the ids are none or not for this token."""

    plan_id: int
    total: int
    unknown: int


class PlanRow(Answer):
    """A plan as lists show it."""

    plan_id: int
    action: str
    state: str
    because: str | None
    total: int
    eligible: int
    approvals_needed: int
    reason_code: str | None
    requested_by: str
    created_at: Moment
    expires_at: Moment | None
    started_at: Moment | None
    ended_at: Moment | None

    @classmethod
    def told(cls, plan: Any) -> dict[str, Any]:
        """The columns of a stored plan under their names here."""
        named = {"plan_id": plan.id, "approvals_needed": plan.needed}
        return named | {name: getattr(plan, name) for name in PlanRow.model_fields if name not in named}


class PlanPage(Links):
    """A page of plans, newest first."""

    items: list[PlanRow]


class PlanAmount(Answer):
    """The exact total of the rows with an outcome, in one currency; null for rows without one."""

    outcome: str
    currency: str | None
    total: str


class PlanReason(Answer):
    """Why rows were not eligible, skipped or failed, and how many."""

    outcome: str
    code: str | None
    rows: int


class PlanDetail(PlanRow):
    """One plan in numbers: `rows` by outcome make `total`."""

    canary: int | None
    rate: int | None
    approvals: int
    rows: dict[str, int]
    amounts: list[PlanAmount]
    reasons: list[PlanReason]

    @classmethod
    def of(
        cls, plan: Any, sums: Sums, amounts: Iterable[Amount], why: Iterable[Reason], *, agreed: int
    ) -> "PlanDetail":
        return cls(
            **PlanRow.told(plan),
            canary=plan.canary,
            rate=plan.rate,
            approvals=agreed,
            rows=dict(sums.by_outcome),
            amounts=[
                PlanAmount(outcome=each.outcome, currency=each.currency, total=format(each.total, "f"))
                for each in amounts
            ],
            reasons=[PlanReason(outcome=each.outcome, code=each.code, rows=each.times) for each in why],
        )


class PlannedOperation(Answer):
    """One operation of a plan at the revision that was reviewed; `code` says why it was not done."""

    operation_id: str
    revision: int
    outcome: str
    code: str | None
    changed_by: str | None
    action_id: int | None
    amount: str | None
    currency: str | None
    settled_at: Moment | None


class PlannedPage(Links):
    """A page of a plan's operations, in the order in which they are done."""

    items: list[PlannedOperation]


class PlanStanding(Answer):
    """Where the plan stands after the step."""

    plan_id: int
    step: str
    state: str
