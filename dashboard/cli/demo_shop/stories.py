"""What may become of an operation: each story leads a history from pending to where it ends."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from dashboard.cli.demo_shop.catalogue import remote_id
from dashboard.cli.demo_shop.history import OPERATOR, RECONCILER, SUPPORT, SYSTEM, WORKER, History
from dashboard.domain.states import EventKind, State, Trigger
from dashboard.domain.verdicts import Verdict


def waits(_history: History) -> None:
    """Nobody has taken it yet."""


def is_in_hand(history: History) -> None:
    """A worker is at it."""
    history.claim()


def goes_well(history: History) -> None:
    """The usual case."""
    history.claim()
    history.confirm_at_once()


def loses_its_answer(history: History) -> None:
    """Sent, and nobody knows what came of it."""
    history.claim()
    history.lose_answer()


def loses_its_worker(history: History) -> None:
    """The worker died with the operation in hand: its effect may have happened."""
    history.claim()
    history.wait(least=61, most=75)
    reason = "lease ran out: the worker stopped answering"
    history.move(State.AWAITING_CONFIRMATION, Trigger.LEASE_LOST, SYSTEM, reason=reason)


def is_throttled(history: History) -> None:
    """The destination asks for patience."""
    history.claim()
    history.be_put_off(cause="throttled", reason="429: too many requests, retry after 600 s", seconds=600)


def cannot_connect(history: History) -> None:
    """The request never left."""
    history.claim()
    history.be_put_off(cause="not_sent", reason="connection refused by the destination", seconds=900)


def is_found_after_doubt(history: History) -> None:
    """The answer was lost, and a probe finds the effect."""
    loses_its_answer(history)
    history.wait(least=240, most=900)
    _find(history, Verdict.CORRECT)
    history.operation["remote_id"] = remote_id(history.random, history.work.destination)
    history.move(State.CONFIRMED, Trigger.VERDICT_CORRECT, RECONCILER, reason="verdict correct")


def is_cancelled(history: History) -> None:
    """The order was cancelled while the answer was out."""
    loses_its_answer(history)
    history.wait(least=600, most=1800)
    _find(history, Verdict.NOT_APPLICABLE, status="cancelled")
    history.operation["closed_reason"] = "cancelled"
    history.move(State.NOT_APPLICABLE, Trigger.VERDICT_NOT_APPLICABLE, RECONCILER, reason="order cancelled")


def is_superseded(history: History) -> None:
    """A newer version arrived first."""
    history.wait(least=1, most=20)
    history.operation["closed_reason"] = "superseded"
    reason = "a newer version is confirmed already"
    history.move(State.NOT_APPLICABLE, Trigger.SUPERSEDED, SYSTEM, reason=reason)


def differs_in_amount(history: History) -> None:
    """The effect exists with another amount."""
    _doubt(history)
    amount = Decimal(history.operation["amount"])
    wrong = str((amount * Decimal("1.21")).quantize(amount))
    _diverge(history, amount=wrong)


def shows_an_older_version(history: History) -> None:
    """The destination still holds an earlier version."""
    _doubt(history)
    _diverge(history, version=history.operation["expected_version"] - 1)


def is_found_twice(history: History) -> None:
    """Two effects exist where there must be one."""
    _doubt(history)
    ids = [remote_id(history.random, history.work.destination) for _ in range(2)]
    history.probe(Verdict.AMBIGUOUS, actual=None, candidates=2, ids=ids)
    history.send_to_review(Trigger.VERDICT_AMBIGUOUS)


def is_absent(history: History) -> None:
    """The destination knows nothing of it, and policy leaves a second try to a person."""
    _doubt(history)
    history.probe(Verdict.ABSENT, actual=None, candidates=0)
    history.send_to_review(Trigger.VERDICT_ABSENT)


def gets_no_verdict(history: History) -> None:
    """The destination cannot be asked just now."""
    _doubt(history)
    history.probe(Verdict.AMBIGUOUS, actual=None, candidates=0, failed="server_error", detail="It answered 503.")
    history.send_to_review(Trigger.VERDICT_AMBIGUOUS)


def is_refused(history: History) -> None:
    """The destination refuses for good."""
    history.claim()
    history.wait(least=0.3, most=2)
    reason = "422: the account at the destination is closed"
    history.operation["cause"] = "permanent"
    history.tell(EventKind.ATTEMPT, WORKER, cause="permanent", reason=reason)
    history.move(State.MANUAL_REVIEW, Trigger.PERMANENT, WORKER, cause="permanent", reason=reason)


def uses_up_its_attempts(history: History) -> None:
    """Put off four times, and the fifth attempt was the last."""
    for attempt in range(4):
        is_throttled(history)
        history.at += timedelta(seconds=600 * (attempt + 1))
    history.claim()
    history.wait(least=0.2, most=2)
    history.tell(EventKind.ATTEMPT, WORKER, cause="throttled", reason="429: too many requests")
    history.move(
        State.MANUAL_REVIEW, Trigger.ATTEMPTS_USED_UP, WORKER, cause="throttled", reason="5 of 5 attempts used up"
    )


def is_doubted_later(history: History) -> None:
    """Confirmed, and a later probe no longer agrees."""
    goes_well(history)
    history.wait(least=1200, most=1800)
    _diverge(history, version=history.operation["expected_version"] - 1)


def is_escalated(history: History) -> None:
    """Support asks for a decision before a verdict came."""
    loses_its_answer(history)
    history.wait(least=300, most=600)
    reason = "The customer is on the phone and asks whether the order is paid."
    evidence = {"action": "escalate", "reason_code": "customer_waiting", "reference": None}
    history.move(State.MANUAL_REVIEW, Trigger.ESCALATE, SUPPORT, reason=reason, evidence=evidence)


def is_confirmed_by_hand(history: History) -> None:
    """An operator saw the effect at the destination."""
    gets_no_verdict(history)
    history.wait(least=1800, most=14400)
    reason = "The destination's console shows it once, with the same amount and time."
    evidence = {"action": "confirm", "reason_code": "seen_at_destination", "reference": None}
    history.move(State.CONFIRMED, Trigger.CONFIRM, OPERATOR, reason=reason, evidence=evidence)


def is_closed_by_hand(history: History) -> None:
    """An operator closes what the shop no longer wants."""
    is_refused(history)
    history.wait(least=1800, most=14400)
    history.operation["closed_reason"] = "written_off"
    reason = "The account is closed for good and the amount was written off."
    evidence = {"action": "close", "reason_code": "written_off", "reference": None}
    history.move(State.NOT_APPLICABLE, Trigger.CLOSE, OPERATOR, reason=reason, evidence=evidence)


def is_requeued(history: History) -> None:
    """Proven absent, sent again by an operator, and confirmed."""
    is_absent(history)
    history.note(SUPPORT, "The customer asked twice where the order is; nothing is shown at the destination.")
    history.wait(least=900, most=5400)
    reason = "Two probes found nothing and the destination is back since this morning."
    evidence = {"action": "requeue", "reason_code": "effect_absent", "reference": None}
    history.move(State.RETRY_SCHEDULED, Trigger.REQUEUE, OPERATOR, reason=reason, evidence=evidence)
    history.claim()
    history.confirm_at_once()


def is_compensated(history: History, child: History) -> None:
    """Found twice, paid back by a child operation, and ended by its confirmation."""
    is_found_twice(history)
    history.wait(least=1800, most=7200)
    reason = "The card was charged twice for the same order; one of the two is paid back."
    told = {"action": "compensate", "reason_code": "charged_twice", "reference": None}
    child_id = child.operation["operation_id"]
    history.tell(EventKind.ACTION, OPERATOR, reason=reason, evidence={**told, "compensation": child_id})
    child.at = history.at
    child.operation.update(created_at=child.at, deadline_at=child.at + child.work.deadline)
    goes_well(child)
    history.at = child.at
    history.move(State.COMPENSATED, Trigger.COMPENSATE, SYSTEM, reason=reason, evidence={"compensation": child_id})


def _doubt(history: History) -> None:
    loses_its_answer(history)
    history.wait(least=300, most=780)


def _find(history: History, verdict: Verdict, **more: Any) -> None:
    history.probe(verdict, actual={**history.operation["expected"], **more}, candidates=1)


def _diverge(history: History, **wrong: Any) -> None:
    _find(history, Verdict.DIVERGENT, **wrong)
    history.send_to_review(Trigger.VERDICT_DIVERGENT)
