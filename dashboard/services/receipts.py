"""Signed acknowledgements of destinations: let in by their signature, kept once, and judged like any other evidence.

1. The destination must have receipts in the policy, and its secret in the environment.
2. The signature and its time are checked before anything of the message is read.
3. The message is kept under its event id; one that is there already changes nothing.
4. The operation it is about is looked at, and policy decides what follows.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.adapters.signatures import SignatureError, Signed, is_secret, verify
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.errors import InvalidInputError, OperationsError
from dashboard.domain.evidence_sources import Receipts, SignatureScheme
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.received import Match, Source
from dashboard.domain.states import ActorKind
from dashboard.domain.text import visible
from dashboard.models import AuditEntry, AuditHead
from dashboard.services import audit
from dashboard.services.evidence_lines import EvidenceLine, read_message
from dashboard.services.evidence_looks import EvidenceRun
from dashboard.services.evidence_store import Arrival, Kept, keep

REFUSED = "receipt_refused"
UNKNOWN = "(unknown destination)"
# Strangers decide how often they are refused: the log keeps one entry of a kind a quarter of an hour, and not many.
WINDOW = timedelta(minutes=15)
MOST_TOLD = 20
MOST_EVENT_ID = 128


class ReceiptRefusedError(OperationsError):
    """A message that is not taken; its code says why."""

    default_code = "receipt_refused"


@dataclass(frozen=True)
class Message:
    """What came: headers with names in small letters, the body as it was signed, and from where."""

    destination: str
    headers: Mapping[str, str]
    body: bytes
    address: str | None = None
    request_id: str | None = None

    def actor(self) -> Actor:
        """Who acts on it, for the history and the audit log."""
        name = f"receipts, {visible(self.destination)[:200]}"
        return Actor(ActorKind.SYSTEM, name, address=self.address, request_id=self.request_id)


@dataclass(frozen=True)
class Taken:
    """What became of a message: its id, whether it is new, and how it matched."""

    event_id: str
    new: bool
    match: Match


def take_receipt(
    database: Database, message: Message, *, policies: Policies, environment: Mapping[str, str] = os.environ
) -> Taken:
    """Check, keep and judge one message; ReceiptRefusedError once the refusal is audited, and nothing else is kept."""
    try:
        receipts = _receipts(policies, message.destination)
        signed = _verified(database, message, receipts, environment)
        line = _read(message, receipts)
    except ReceiptRefusedError as refusal:
        _note(database, message, refusal, known=message.destination in policies.destinations)
        raise
    arrival = Arrival(message.destination, Source.RECEIPT, f"{receipts.scheme.value}, {message.address or 'unknown'}")
    event_id = _event_id(line, signed)
    [kept] = transact(database, lambda session: keep(session, arrival, [(event_id, line)], now=clock(session)))
    if kept.unjudged:
        _judge(database, message, kept, policies)
    return Taken(event_id, kept.new, kept.matched.match)


def _receipts(policies: Policies, destination: str) -> Receipts:
    known = policies.destinations.get(destination)
    if known is None or known.receipts is None:
        raise ReceiptRefusedError("receipts_unconfigured")
    return known.receipts


def _verified(database: Database, message: Message, receipts: Receipts, environment: Mapping[str, str]) -> Signed:
    secret = environment.get(receipts.secret_env, "")
    if not is_secret(receipts.scheme, secret):
        raise ReceiptRefusedError("receipts_secret_unset")
    with reading(database) as session:
        now = clock(session)
    try:
        return verify(
            receipts.scheme,
            headers=message.headers,
            body=message.body,
            secret=secret,
            now=now,
            tolerance=receipts.tolerance,
        )
    except SignatureError as error:
        raise ReceiptRefusedError(error.code) from error


def _read(message: Message, receipts: Receipts) -> EvidenceLine:
    # A Stripe event says who it is in its body; what else it says may differ from one delivery to the next.
    own = {"event_id": "id"} if receipts.scheme is SignatureScheme.STRIPE else {}
    try:
        return read_message(message.body, {**own, **receipts.fields})
    except InvalidInputError as error:
        problems = {problem.field or "message": problem.code for problem in error.problems}
        raise ReceiptRefusedError("receipt_unreadable", problems=problems) from error


def _event_id(line: EvidenceLine, signed: Signed) -> str:
    named = line.event_id or signed.event_id
    return named if named and len(named) <= MOST_EVENT_ID else line.raw_hash


def _judge(database: Database, message: Message, kept: Kept, policies: Policies) -> None:
    """Look at the operation; where somebody holds it, a worker judges the message later."""
    run = EvidenceRun(database, message.actor(), policies)
    if kept.matched.number is not None and run.look_at(kept.matched.number, Source.RECEIPT):
        transact(database, lambda session: _audit(session, message, kept, run))


def _audit(session: Session, message: Message, kept: Kept, run: EvidenceRun) -> None:
    row = run.close(session)
    audit.append(
        session,
        actor=message.actor(),
        action="receipt",
        subject=message.destination,
        now=clock(session),
        after={"event_id": kept.event_id, "match": kept.matched.match.value, "new": kept.new},
        evidence={
            "run_id": row.id if row else None,
            "digest": row.digest if row else None,
            "raw_hash": kept.line.raw_hash,
            "policy_hash": run.policies.hash,
        },
    )


def _note(database: Database, message: Message, refusal: ReceiptRefusedError, *, known: bool) -> None:
    """Write the refusal down, unless the log has been told; whoever floods us cannot fill it."""
    subject = message.destination if known else UNKNOWN
    with reading(database) as session:
        if _told(session, message, refusal, subject):
            return
    transact(database, lambda session: _append_refusal(session, message, refusal, subject))


def _append_refusal(session: Session, message: Message, refusal: ReceiptRefusedError, subject: str) -> None:
    session.execute(select(AuditHead.id).where(AuditHead.id == 1).with_for_update())
    if _told(session, message, refusal, subject):
        return
    audit.append(
        session,
        actor=message.actor(),
        action=REFUSED,
        subject=subject,
        now=clock(session),
        outcome=audit.REFUSED,
        reason=refusal.code,
        evidence={"asked": visible(message.destination)[:200], "bytes": len(message.body), **refusal.details},
    )


def _told(session: Session, message: Message, refusal: ReceiptRefusedError, subject: str) -> bool:
    entry = AuditEntry
    since = clock(session) - WINDOW
    newest = session.execute(
        select(entry.at, entry.address, entry.reason, entry.subject)
        .where(entry.action == REFUSED)
        .order_by(entry.seq.desc())
        .limit(MOST_TOLD)
    ).all()
    recent = [tuple(row[1:]) for row in newest if row.at > since]
    return len(recent) == MOST_TOLD or (message.address, refusal.code, subject) in recent
