"""Mail about proposals and plans to those who can approve them, sent by the worker and never inside a transaction.

Nobody is told twice: a letter that one person has got counts as told, whoever of the others the server refuses.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from dashboard.adapters.mail import MailServer, send
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.approval import Vote
from dashboard.domain.bulk import PlanState
from dashboard.domain.permissions import Actor, Permission, allows
from dashboard.domain.states import ActorKind
from dashboard.domain.text import visible
from dashboard.models import Action, BulkGroup, BulkPlan, Operation, User
from dashboard.queries.proposals import standing
from dashboard.services import approvals, bulk_plans, grant_rows

AT_ONCE = 20

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Letter:
    """What the people who can approve one proposal or plan are told; no words of people and no masked field.

    `about` is the table in whose row `number` it is noted that they were told.
    """

    about: type[Action] | type[BulkPlan]
    number: int
    to: tuple[str, ...]
    subject: str
    text: str


def tell_approvers(database: Database, *, server: MailServer, public_url: str) -> bool:
    """Send what waits to be told, each proposal once; one whose mail nobody got is told again later.

    Raises OSError where nobody got the mail about one of them; that one is in no other's way.
    """
    with reading(database) as session:
        letters = list(_letters(session, public_url=public_url))
    told, failure = False, None
    for letter in letters:
        try:
            told = _tell(database, letter, server) or told
        except OSError as error:
            failure = error
    if failure:
        raise failure
    return told


def _letters(session: Session, *, public_url: str) -> Iterator[Letter]:
    yield from _about_actions(session, public_url=public_url)
    yield from _about_plans(session, public_url=public_url)


def _about_actions(session: Session, *, public_url: str) -> Iterator[Letter]:
    rows = session.execute(
        select(Action, Operation)
        .join(Operation, Operation.id == Action.operation_id)
        .where(standing(clock(session)), Action.notified_at.is_(None))
        .order_by(Action.id)
        .limit(AT_ONCE)
    ).all()
    people = list(_people(session)) if rows else []
    for stored, operation in rows:
        to = tuple(who.id for who in people if _can_approve(stored, operation, who))
        text = _text(stored, operation, public_url=public_url)
        yield Letter(Action, stored.id, to, _subject(stored, operation), text)


def _about_plans(session: Session, *, public_url: str) -> Iterator[Letter]:
    waits = (BulkPlan.state == PlanState.WAITING.value, BulkPlan.expires_at > clock(session))
    plans = session.scalars(
        select(BulkPlan).where(*waits, BulkPlan.notified_at.is_(None)).order_by(BulkPlan.id).limit(AT_ONCE)
    ).all()
    people = list(_people(session)) if plans else []
    for plan in plans:
        groups = bulk_plans.groups_of(session, plan)
        to = tuple(who.id for who in people if _can_approve_plan(plan, groups, who))
        subject = f"Waits for approval: {plan.action} {plan.eligible} operations"
        yield Letter(BulkPlan, plan.id, to, subject, _plan_text(plan, groups, public_url=public_url))


def _people(session: Session) -> Iterator[Actor]:
    for user in session.scalars(select(User).where(User.disabled_at.is_(None)).order_by(User.id)).all():
        yield Actor(ActorKind.USER, user.email, grant_rows.grants_of(session, user.id))


def _can_approve(stored: Action, operation: Operation, who: Actor) -> bool:
    special = _has_any(who, stored.special, [operation])
    return special and approvals.obstacle(stored, operation, actor=who, vote=Vote.APPROVE) is None


def _can_approve_plan(plan: BulkPlan, groups: Sequence[BulkGroup], who: Actor) -> bool:
    special = _has_any(who, plan.special, groups)
    return special and bulk_plans.obstacle(plan, groups, actor=who, vote=Vote.APPROVE) is None


def _has_any(who: Actor, special: str, where: Sequence[Operation] | Sequence[BulkGroup]) -> bool:
    """Whether the person has any of what is needed beside a vote: several may have it only together."""
    needed = [Permission(name) for name in special.split()]
    held = (allows(who.grants, each, tenant=one.tenant, type=one.type) for each in needed for one in where)
    return not needed or any(held)


def _tell(database: Database, letter: Letter, server: MailServer) -> bool:
    if not transact(database, lambda session: _take(session, letter)):
        return False
    refused = list(_refused(letter, server))
    if refused and len(refused) == len(letter.to):
        transact(database, lambda session: _give_back(session, letter))
        raise refused[0]
    for error in refused:
        log.warning("%s: one of its approvers got no mail: %s", letter.subject, type(error).__name__)
    return True


def _refused(letter: Letter, server: MailServer) -> Iterator[OSError]:
    """Send to each, and give what went wrong; an SMTPException is an OSError."""
    for address in letter.to:
        try:
            send(server, to=address, subject=letter.subject, text=letter.text)
        except OSError as error:
            yield error


def _take(session: Session, letter: Letter) -> bool:
    """Of several workers one tells it."""
    untold = update(letter.about).where(letter.about.id == letter.number, letter.about.notified_at.is_(None))
    return session.connection().execute(untold.values(notified_at=clock(session))).rowcount == 1


def _give_back(session: Session, letter: Letter) -> None:
    row = letter.about.id == letter.number
    session.connection().execute(update(letter.about).where(row).values(notified_at=None))


def _subject(stored: Action, operation: Operation) -> str:
    return f"Waits for approval: {stored.action} {operation.operation_id}"


def _text(stored: Action, operation: Operation, *, public_url: str) -> str:
    amount = stored.amount or operation.amount
    until = f"{stored.expires_at:%Y-%m-%d %H:%M} UTC" if stored.expires_at else ""
    lines = (
        f"{visible(stored.requested_by)} proposes: {stored.action} {operation.operation_id}",
        f"Type: {visible(operation.type)}, tenant: {visible(operation.tenant)}",
        f"Amount: {amount} {operation.currency}" if amount else "",
        f"Reason: {stored.reason_code}, duplication risk: {stored.risk}",
        f"Approvals needed: {stored.needed}, until {until}",
        "",
        f"{public_url.rstrip('/')}/actions/{stored.id}",
    )
    return "\n".join(lines) + "\n"


def _plan_text(plan: BulkPlan, groups: Sequence[BulkGroup], *, public_url: str) -> str:
    until = f"{plan.expires_at:%Y-%m-%d %H:%M} UTC" if plan.expires_at else ""
    lines = (
        f"{visible(plan.requested_by)} plans: {plan.action} {plan.eligible} operations",
        f"Types: {', '.join(sorted({visible(group.type) for group in groups}))}",
        f"Reason: {plan.reason_code}",
        f"Approvals needed: {plan.needed}, until {until}",
        "",
        f"{public_url.rstrip('/')}/bulk/{plan.id}",
    )
    return "\n".join(lines) + "\n"
