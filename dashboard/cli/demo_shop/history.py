"""The life of one operation, told through the same transition table that the product enforces."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from dashboard.cli.demo_shop.catalogue import Work, remote_id
from dashboard.domain.states import ActorKind, EventKind, State, Trigger, find_transition
from dashboard.domain.verdicts import Verdict

WORKER = (ActorKind.WORKER, "worker-1")
RECONCILER = (ActorKind.RECONCILER, "reconciler-1")
SUPPORT = (ActorKind.USER, "support@example.com")
OPERATOR = (ActorKind.USER, "operator@example.com")
SYSTEM = (ActorKind.SYSTEM, "dispatcher")
LEASE = timedelta(minutes=1)

Who = tuple[ActorKind, str]


class History:
    """An operation and its events so far; `at` is the time the story has reached."""

    def __init__(
        self, random: Random, work: Work, operation: dict[str, Any], *, at: datetime, policy_hash: str | None
    ) -> None:
        self.random = random
        self.work = work
        self.at = at
        self.operation = {
            **operation,
            "state": State.PENDING.value,
            "attempts": 0,
            "created_at": at,
            "deadline_at": at + work.deadline,
        }
        self.operation["state_since"] = self.operation["updated_at"] = at
        self.events: list[dict[str, Any]] = []
        self._policy_hash = policy_hash

    @property
    def state(self) -> State:
        """Where the operation stands."""
        return State(self.operation["state"])

    def wait(self, *, least: float, most: float) -> None:
        """Let some seconds pass."""
        self.at += timedelta(seconds=self.random.uniform(least, most))

    def tell(self, kind: EventKind, who: Who, **columns: Any) -> None:
        """Add an event."""
        self.events.append(
            {
                "kind": "event",
                "operation_id": self.operation["operation_id"],
                "seq": len(self.events) + 1,
                "at": self.at,
                "event": kind.value,
                "actor_kind": who[0].value,
                "actor_id": who[1],
                **columns,
            }
        )
        self.operation["updated_at"] = self.at

    def move(self, target: State, trigger: Trigger, who: Who, **columns: Any) -> None:
        """Change the state; raises TransitionError where the table has no such way."""
        find_transition(self.state, target, trigger=trigger, actor=who[0])
        if who is RECONCILER:
            columns["policy_hash"] = self._policy_hash
        self.tell(EventKind.TRANSITION, who, from_state=self.state.value, to_state=target.value, **columns)
        self.operation.update(state=target.value, state_since=self.at, next_attempt_at=None)
        self.operation.update(lease_token=None, lease_until=None)
        if target is State.CONFIRMED:
            self.operation["confirmed_at"] = self.at

    def claim(self) -> None:
        """The worker takes it; that counts an attempt."""
        self.wait(least=0.05, most=2)
        self.move(State.PROCESSING, Trigger.CLAIM, WORKER)
        self.operation["attempts"] += 1
        self.operation.update(lease_token=f"{self.random.getrandbits(64):016x}", lease_until=self.at + LEASE)

    def confirm_at_once(self) -> None:
        """The destination answers while the worker waits."""
        usual = self.work.seconds
        self.at += timedelta(seconds=max(0.2, self.random.lognormvariate(0, 0.6) * usual))
        self.operation["remote_id"] = remote_id(self.random, self.work.destination)
        evidence = {"remote_id": self.operation["remote_id"], "status": 201}
        self.move(State.CONFIRMED, Trigger.CONFIRMATION, WORKER, evidence=evidence)

    def lose_answer(self) -> None:
        """It was sent and no answer came."""
        self.wait(least=30, most=31)
        reason = "timeout after 30 s: the answer never came"
        self.operation["cause"] = "sent_unknown"
        self.tell(EventKind.ATTEMPT, WORKER, cause="sent_unknown", reason=reason)
        self.move(State.AWAITING_CONFIRMATION, Trigger.ANSWER_UNKNOWN, WORKER, cause="sent_unknown")

    def be_put_off(self, *, cause: str, reason: str, seconds: float) -> None:
        """The attempt failed before anything happened outside; another one is planned."""
        self.wait(least=0.2, most=3)
        self.operation["cause"] = cause
        self.tell(EventKind.ATTEMPT, WORKER, cause=cause, reason=reason)
        self.move(State.RETRY_SCHEDULED, Trigger.TRANSIENT, WORKER, cause=cause)
        self.operation["next_attempt_at"] = self.at + timedelta(seconds=seconds)

    def probe(self, verdict: Verdict, *, actual: dict[str, Any] | None, candidates: int, **more: Any) -> None:
        """The reconciler asks the destination and keeps what it saw."""
        evidence = {
            "verdict": verdict.value,
            "expected": self.operation["expected"],
            "actual": actual,
            "candidates": candidates,
            "found": None if "failed" in more else candidates,
            "as_of": self.at.isoformat(),
            **more,
        }
        self.operation.update(verdict=verdict.value, verdict_at=self.at)
        self.tell(EventKind.PROBE, RECONCILER, evidence=evidence)

    def send_to_review(self, trigger: Trigger) -> None:
        """The verdict needs a person."""
        reason = f"verdict {self.operation['verdict']}"
        self.move(State.MANUAL_REVIEW, trigger, RECONCILER, reason=reason)

    def note(self, who: Who, text: str) -> None:
        """Somebody writes a note."""
        self.tell(EventKind.NOTE, who, reason=text)

    def lines(self) -> Iterator[dict[str, Any]]:
        """The operation and its events, as they stand in an import file."""
        yield {name: value for name, value in self.operation.items() if value is not None}
        yield from self.events
