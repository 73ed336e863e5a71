"""Changing one's own password: slowed like signing in, and in the same steps.

1. Read the hash that is kept and how often somebody failed lately.
2. Unless that was too often, compare the current password and hash the new one; no transaction is open meanwhile.
3. Under the lock of the person's row count once more and write the outcome. Of many guesses sent at once only as many
   get an answer as of guesses sent one after the other.
"""

from dataclasses import dataclass
from math import ceil

from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.permissions import Actor
from dashboard.models import User
from dashboard.services import audit
from dashboard.services.passwords import check_password, hash_password, matches
from dashboard.services.throttling import CHANGE, WRONG, Refused, throttled_by


@dataclass(frozen=True)
class _Wish:
    """The hash that the current password fits (None: it fits none), what is wrong with the new one, or its hash."""

    proven: str | None
    problems: tuple[Problem, ...]
    renewed: str | None


def change_password(database: Database, *, actor: Actor, user_id: int, current: str, new: str) -> int:
    """Change a person's own password, end their other sessions and give the new session epoch.

    A wrong current password is audited, and counts as a failed sign-in, before InvalidInputError is raised; after as
    many of them as would stop a sign-in none is compared any more.
    """
    with reading(database) as session:
        user = session.get_one(User, user_id)
        throttled = _throttled(session, user, actor=actor)
    wish = None if throttled else _wish(user, current=current, new=new)
    outcome = transact(database, lambda session: _settle(session, user_id=user_id, actor=actor, wish=wish))
    if isinstance(outcome, tuple):
        raise InvalidInputError(outcome)
    return outcome


def _wish(user: User, *, current: str, new: str) -> _Wish:
    if not matches(current, kept=user.password_hash):
        return _Wish(None, (), None)
    problems = check_password(new, email=user.email, field="new_password")
    if user.password_initial and new == current:
        problems = (Problem("new_password", "password_same"),)
    return _Wish(user.password_hash, problems, None if problems else hash_password(new))


def _settle(session: Session, *, user_id: int, actor: Actor, wish: _Wish | None) -> int | tuple[Problem, ...]:
    user = session.get_one(User, user_id, with_for_update=True)
    throttled = _throttled(session, user, actor=actor)
    if throttled:
        return (Problem("current_password", "password_throttled", {"minutes": ceil(throttled.retry_after / 60)}),)
    # The password may have been changed after it was compared.
    if wish is None or wish.proven != user.password_hash:
        _record(session, user, actor=actor, outcome=audit.REFUSED, reason=WRONG)
        return (Problem("current_password", "password_wrong"),)
    if wish.renewed is None:
        return wish.problems
    user.password_hash = wish.renewed
    user.password_initial = False
    user.session_epoch += 1
    session.flush()
    _record(session, user, actor=actor)
    return user.session_epoch


def _throttled(session: Session, user: User, *, actor: Actor) -> Refused | None:
    return throttled_by(session, subject=user.email, address=actor.address, now=clock(session))


def _record(
    session: Session, user: User, *, actor: Actor, outcome: str = audit.DONE, reason: str | None = None
) -> None:
    now = clock(session)
    audit.append(session, actor=actor, action=CHANGE, subject=user.email, now=now, outcome=outcome, reason=reason)
