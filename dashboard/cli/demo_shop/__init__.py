"""A believable shop of about 600 operations over 30 days, the same each time but for its dates.

Every history is told through the transition table, and everything leaves here as lines of an import file.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from dashboard.cli.demo_shop import stories
from dashboard.cli.demo_shop.catalogue import WORK, Work, new_operation, some_work
from dashboard.cli.demo_shop.history import OPERATOR, SUPPORT, History
from dashboard.cli.demo_shop.records import record_of
from dashboard.domain.states import EventKind, State

POLICIES = Path(__file__).with_name("policies.toml")
SEED = 20
DAYS = 30
CONFLICT_EVERY = 16
NOTED = 0.6
CLAIMED = 0.4
# What awaits confirmation is looked at one after another, so that there is something to see for a while.
LOOK_EVERY = timedelta(seconds=45)

Story = Callable[[History], None]

# How many of each came to an end within the last 30 days; the types where not every type has such a story.
ENDED: Sequence[tuple[int, Story, tuple[str, ...]]] = (
    (462, stories.goes_well, ()),
    (36, stories.is_found_after_doubt, ()),
    (9, stories.is_cancelled, ()),
    (4, stories.is_superseded, ("sync_customer",)),
    (5, stories.is_requeued, ("create_shipment", "issue_invoice")),
    (4, stories.is_confirmed_by_hand, ("create_shipment", "send_notification")),
    (3, stories.is_closed_by_hand, ("grant_credit", "sync_customer")),
)
COMPENSATED = 6
# What is open now: the story, the types, and how many minutes ago each began.
OPEN: Sequence[tuple[Story, tuple[str, ...], tuple[float, ...]]] = (
    (stories.differs_in_amount, ("charge_order", "issue_invoice"), (95, 260, 1490, 5900)),
    (stories.shows_an_older_version, ("sync_customer",), (48, 610, 2200, 12500)),
    (stories.is_found_twice, ("charge_order", "create_shipment"), (33, 130, 1320, 4100)),
    (stories.is_absent, ("create_shipment", "issue_invoice"), (24, 57, 88, 150)),
    (stories.gets_no_verdict, ("create_shipment",), (41, 380)),
    (stories.gets_no_verdict, ("send_notification",), (75, 2900)),
    (stories.is_refused, ("grant_credit", "sync_customer"), (19, 940)),
    (stories.uses_up_its_attempts, ("issue_invoice",), (320,)),
    (stories.is_doubted_later, ("sync_customer", "create_shipment"), (210, 1750)),
    (stories.is_escalated, ("charge_order",), (52,)),
    (
        stories.loses_its_answer,
        ("charge_order", "create_shipment", "sync_customer", "issue_invoice", "refund_order"),
        (1.2, 2, 3, 4, 6, 8, 11, 14, 18, 23, 29, 37, 46, 64, 110, 175, 290, 520, 1600),
    ),
    (stories.loses_its_worker, ("create_shipment", "charge_order"), (3, 9, 21, 70, 400)),
    (stories.is_throttled, ("charge_order", "sync_customer"), (0.5, 2, 5, 8, 12, 31)),
    (stories.cannot_connect, ("issue_invoice", "sync_customer"), (1, 7, 13, 45)),
    (stories.waits, ("charge_order", "sync_customer", "create_shipment"), (0.1, 0.3, 0.6, 1, 2, 190)),
    (stories.is_in_hand, ("charge_order", "create_shipment"), (0.2, 0.4, 0.7, 0.9)),
)
NOTES = (
    (SUPPORT, "The customer wrote to us: two entries on the card statement, both of the same minute."),
    (SUPPORT, "Asked the destination's support for the log of that hour; they answer within a day."),
    (OPERATOR, "Same window as the outage on their status page. Do not send again before they confirm."),
)


def shop_lines(*, now: datetime, policy_hash: str | None) -> Iterator[bytes]:
    """Give the whole shop as lines of an import file, nothing in it later than now but plans and deadlines."""
    random = Random(SEED)  # noqa: S311 - a story, not a secret
    for number, history in enumerate(_histories(random, now, policy_hash), start=1):
        lines = list(history.lines())
        if history.work.money:
            lines.append(record_of(history, conflicted=number % CONFLICT_EVERY == 0))
        yield from (_as_line(line) for line in lines)


def _histories(random: Random, now: datetime, policy_hash: str | None) -> Iterator[History]:
    numbers = iter(range(1, 10_000))

    def begin(work: Work, at: datetime, entity_id: str | None = None) -> History:
        operation = new_operation(random, work, number=next(numbers), created_at=at, entity_id=entity_id)
        return History(random, work, operation, at=at, policy_hash=policy_hash)

    for count, story, types in ENDED:
        for _ in range(count):
            history = begin(_work(random, types), _some_time_ago(random, now))
            story(history)
            yield history
    for _ in range(COMPENSATED):
        yield from _compensation(random, now, begin)
    looks = 0
    for story, types, ages in OPEN:
        for turn, minutes in enumerate(ages):
            history = begin(WORK[types[turn % len(types)]], now - timedelta(minutes=minutes))
            story(history)
            if history.state is State.AWAITING_CONFIRMATION:
                looks += 1
                history.operation["next_attempt_at"] = now + looks * LOOK_EVERY
            _talk_about(history, now)
            yield history


def _compensation(
    random: Random, now: datetime, begin: Callable[[Work, datetime, str | None], History]
) -> Iterator[History]:
    at = _some_time_ago(random, now)
    parent = begin(WORK["charge_order"], at, None)
    child = begin(WORK["refund_order"], at, parent.operation["entity_id"])
    same = ("tenant", "expected", "expected_version", "fingerprint", "amount", "currency", "correlation_id")
    child.operation.update({name: parent.operation[name] for name in same})
    child.operation["idempotency_key"] = f"compensate:{parent.operation['operation_id']}:1"
    child.operation["parent"] = parent.operation["operation_id"]
    stories.is_compensated(parent, child)
    yield parent
    yield child


def _work(random: Random, types: tuple[str, ...]) -> Work:
    return WORK[random.choice(types)] if types else some_work(random)


def _some_time_ago(random: Random, now: datetime) -> datetime:
    # Far enough back for the longest story to end before now; more by day than by night.
    at = now - timedelta(hours=random.uniform(12, DAYS * 24))
    return at.replace(hour=min(23, int(random.gauss(14, 4)) % 24)) if at < now - timedelta(days=2) else at


def _talk_about(history: History, now: datetime) -> None:
    """Some of what waits for a person has notes, and some is in somebody's hands."""
    quiet = history.state is not State.MANUAL_REVIEW or now - history.at < timedelta(minutes=30)
    if quiet or history.random.random() > NOTED:
        return
    history.at += (now - history.at) * history.random.uniform(0.1, 0.6)
    history.note(*history.random.choice(NOTES))
    if history.random.random() < CLAIMED:
        history.wait(least=20, most=200)
        history.tell(EventKind.CLAIM, OPERATOR, reason="claimed for 2 hours")
        history.operation.update(assigned_to=OPERATOR[1], assigned_until=now + timedelta(minutes=90))


def _as_line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, default=datetime.isoformat).encode() + b"\n"
