"""What the tests of plans share: a plan over operations of a shop, and what became of it."""

from collections import Counter
from decimal import Decimal
from typing import Any

from sqlalchemy import func, insert, select

from dashboard.db import Database, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.bulk import Step
from dashboard.domain.errors import InvalidInputError, OperationsError
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Approvals, Policies, TypePolicy
from dashboard.models import Action, AuditEntry, BulkPlan, BulkRow, Operation, OperationEvent
from dashboard.queries.bulk import sums_of
from dashboard.services import audit, bulk_decisions, bulk_planning, bulk_runs
from dashboard.services.bulk_decisions import PlanDecided, PlanForm
from dashboard.services.bulk_planning import Planned, PlanRequest, Selection
from tests import factories

FREE = Policies(hash="f" * 64, types={"charge_order": TypePolicy()})
FORM = {"reason_code": "duplicate", "note": factories.NOTE}


def asking(**needed: int) -> Policies:
    """Policies in which these actions need so many approvals."""
    rule = TypePolicy(compensation="refund_order", financial=True, approvals=Approvals(needed=needed))
    return Policies(hash="a" * 64, types={"charge_order": rule})


def add(database: Database, count: int, **values: Any) -> list[str]:
    """Operations in review, by their ids."""
    return transact(
        database, lambda session: [factories.operation(session, **values).operation_id for _ in range(count)]
    )


def add_many(database: Database, count: int) -> list[str]:
    """Thousands of operations in review, of 0.01, 0.02, ... each, written in one statement."""
    model = transact(database, lambda session: factories.operation(session, amount="0.01"))
    names = [column.key for column in Operation.__table__.columns if column.computed is None and column.key != "id"]
    like = {name: getattr(model, name) for name in names}
    ids = [f"many-{number:05}" for number in range(1, count)]
    rows = [{**like, "operation_id": each, "amount": f"{number / 100:.2f}"} for number, each in enumerate(ids, start=2)]
    transact(database, lambda session: session.execute(insert(Operation), rows))
    return [model.operation_id, *ids]


def make(database: Database, who: Actor, ids: list[str], *, policies: Policies = FREE, **given: Any) -> Planned:
    """A draft of a plan to close these operations, unless told otherwise."""
    action, key = ActionName(given.pop("action", "close")), given.pop("key", "plan-1")
    request = PlanRequest(who, action, Selection(ids, **given), policies, key)
    return bulk_planning.make(database, request)


def step(
    database: Database, who: Actor, plan: int, name: str, *, policies: Policies = FREE, key: str = "step-1", **form: Any
) -> PlanDecided:
    sent = PlanForm(key, **(form if name != "start" else {**FORM, **form}))
    return bulk_decisions.decide(database, actor=who, plan_id=plan, step=Step(name), form=sent, policies=policies)


def code(database: Database, who: Actor, plan: int, name: str, **given: Any) -> str:
    """The state after the step, or the code of its refusal."""
    try:
        return step(database, who, plan, name, **given).state
    except InvalidInputError as refusal:
        return " ".join(f"{problem.field}:{problem.code}" for problem in refusal.problems)
    except OperationsError as refusal:
        return refusal.code


def started(database: Database, who: Actor, ids: list[str], **form: Any) -> int:
    """A plan that runs."""
    plan = make(database, who, ids).plan_id
    assert step(database, who, plan, "start", **form).state == "running"
    return plan


def run(database: Database, *, policies: Policies = FREE) -> int:
    """Carry out everything that is due; how many times there was something."""
    times = 0
    while bulk_runs.run_due(database, policies=policies):
        times += 1
    return times


def outcomes(database: Database, plan: int) -> Counter[str]:
    """The rows by outcome; they must add up to the plan, and the audit log must verify."""
    with reading(database) as session:
        assert audit.verify(session).intact
        sums = sums_of(session, plan)
        assert sums.total == session.get_one(BulkPlan, plan).total
        return Counter({str(name): count for name, count in sums.by_outcome.items()})


def state_of(database: Database, plan: int) -> tuple[str, str | None]:
    with reading(database) as session:
        found = session.get_one(BulkPlan, plan)
        return found.state, found.because


def facts(database: Database, plan: int) -> tuple[int, int, int, Decimal]:
    """Rows done, actions stored, changes of state written, and the sum of what was done."""
    with reading(database) as session:
        done = session.scalars(select(BulkRow.amount).where(BulkRow.plan_id == plan, BulkRow.outcome == "done")).all()
        acted = session.scalar(select(func.count()).select_from(Action)) or 0
        moved = select(func.count()).select_from(OperationEvent).where(OperationEvent.to_state == "not_applicable")
        return len(done), acted, session.scalar(moved) or 0, sum((Decimal(each or "0") for each in done), Decimal())


def rows(database: Database, plan: int) -> list[tuple[str, str | None, str | None]]:
    """Outcome, code and who changed it, in order."""
    with reading(database) as session:
        found = select(BulkRow.outcome, BulkRow.code, BulkRow.changed_by).where(BulkRow.plan_id == plan)
        return [(row[0], row[1], row[2]) for row in session.execute(found.order_by(BulkRow.id))]


def entries(database: Database) -> list[tuple[str, str, str]]:
    with reading(database) as session:
        found = session.scalars(select(AuditEntry).order_by(AuditEntry.seq))
        return [(row.action, row.actor_id, row.outcome) for row in found]
