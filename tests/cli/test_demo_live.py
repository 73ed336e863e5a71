"""The demo alive: what its destinations hold agrees with the stories, and repairs really happen there."""

import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from sqlalchemy import select

from dashboard.cli.demo import prepare
from dashboard.cli.demo_shop import POLICIES
from dashboard.cli.demo_shop.live import ADDRESS, alive
from dashboard.cli.demo_shop.memory import remind
from dashboard.cli.demo_shop.outside import MOODS, Mood, Outside, running
from dashboard.db import Database, reading
from dashboard.domain.actions import ActionName
from dashboard.domain.errors import NotFoundError
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import Operation
from dashboard.services import actions, reconciliation
from dashboard.services.policies import load_policies

OPERATOR = Actor(ActorKind.USER, "operator@example.com", (Grant(Role.OPERATOR),))
PATIENCE_SECONDS = 40


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('shop')}/shop.sqlite3")
    prepare(database)
    yield database
    database.dispose()


def outside_of(*honours: str) -> Outside:
    return Outside(honours, pause=lambda _seconds: None)


def wanted(operation_id: str = "op-1", operation_type: str = "untroubled") -> dict[str, object]:
    return {"operation_id": operation_id, "type": operation_type, "amount": "10.00", "version": 2}


def test_asked_twice_a_destination_does_it_twice_unless_it_honours_the_key() -> None:
    for honours, effects in (((), 2), (("payments",), 1)):
        outside = outside_of(*honours)
        for _ in range(2):
            outside.make("payments", wanted(), key="key-1")
        assert outside.count("payments", "op-1") == effects


@pytest.mark.parametrize("operation_type", MOODS)
def test_a_mood_decides_the_effect_and_the_answer(operation_type: str) -> None:
    outside = outside_of("payments")
    effects = {Mood.NOTHING_DONE: 0, Mood.BUSY: 0, Mood.REFUSED: 0, Mood.DONE_TWICE: 2}
    answers = {Mood.WELL: HTTPStatus.CREATED, Mood.ANSWER_LATE: HTTPStatus.CREATED}
    answers |= {Mood.BUSY: HTTPStatus.TOO_MANY_REQUESTS, Mood.REFUSED: HTTPStatus.UNPROCESSABLE_ENTITY}
    for number, mood in enumerate(MOODS[operation_type]):
        given = outside.make("payments", wanted(f"op-{number}", operation_type), key=f"key-{number}")
        assert outside.count("payments", f"op-{number}") == effects.get(mood, 1)
        assert (given.status if given else None) == answers.get(mood)


def test_what_is_sent_again_goes_well() -> None:
    outside = outside_of()
    first = [outside.make("payments", wanted(str(number), "charge_order"), key=None) for number in range(3)]
    again = [outside.make("payments", wanted(str(number), "charge_order"), key=None) for number in range(3)]
    assert None in first
    assert None not in again


def test_a_look_at_what_people_have_to_decide_sees_what_was_seen_before(
    shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(honours=()) as outside:
        monkeypatch.setenv(ADDRESS, outside.url)
        with reading(shop) as session:
            remind(session, outside)
        policies = load_policies(POLICIES)
        seen = {row.operation_id: row.verdict for row in stuck_in(shop) if _was_answered(outside, row)}
        looks = {
            name: reconciliation.look(shop, policies=policies, actor=OPERATOR, operation_id=name).verdict
            for name in seen
        }
    assert len(seen) >= 16
    assert looks == seen
    assert {state_of(shop, name) for name in seen} == {"manual_review"}


def test_a_requeue_sends_and_a_compensation_pays_back(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/shop.sqlite3")
    prepare(database)
    absent = one_of(database, "create_shipment", "absent")
    wrong = one_of(database, "charge_order", "divergent")
    with alive(database.url.render_as_string()):
        do(database, ActionName.REQUEUE, absent, "effect_absent")
        do(database, ActionName.COMPENSATE, wrong, "wrong_amount")
        wait_for(database, {absent: "confirmed", wrong: "compensated", f"{wrong}~compensation-1": "confirmed"})
    assert len(stuck_in(database)) >= 24
    database.dispose()


def _was_answered(outside: Outside, row: Operation) -> bool:
    """Not so where nobody has looked, or where the destination could not be asked then."""
    if row.verdict == "ambiguous":
        return outside.count(row.destination, row.operation_id) > 1
    return row.verdict is not None


def one_of(database: Database, operation_type: str, verdict: str) -> str:
    with reading(database) as session:
        return session.scalars(
            select(Operation.operation_id)
            .where(Operation.state == "manual_review", Operation.type == operation_type, Operation.verdict == verdict)
            .order_by(Operation.id)
        ).all()[0]


def stuck_in(database: Database) -> list[Operation]:
    with reading(database) as session:
        return list(session.scalars(select(Operation).where(Operation.state == "manual_review")))


def state_of(database: Database, operation_id: str) -> str:
    with reading(database) as session:
        state = session.scalar(select(Operation.state).where(Operation.operation_id == operation_id))
    if state is None:
        raise NotFoundError(operation_id=operation_id)
    return state


def do(database: Database, action: ActionName, operation_id: str, reason_code: str) -> None:
    with reading(database) as session:
        revision = session.scalar(select(Operation.revision).where(Operation.operation_id == operation_id))
    form = actions.ActionForm(
        idempotency_key=f"{action}:{operation_id}",
        revision=revision,
        reason_code=reason_code,
        note="Looked at the destination and decided that this is right.",
    )
    actions.perform(database, actions.ActionRequest(OPERATOR, operation_id, action, load_policies(POLICIES)), form)


def wait_for(database: Database, states: dict[str, str]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while (found := {name: state_of(database, name) for name in states}) != states and time.monotonic() < until:
        time.sleep(0.2)
    assert found == states
