"""Signing on with what an identity provider says about a person.

1. The provider's issuer and subject name the person; the e-mail address never does, because it can be given to
   somebody else. An account that has the address already, local or of another subject, is not taken over.
2. Only a verified address makes an account. It stays what it was then, so that one person has one name in the log.
3. The groups give the roles, at each sign-on anew. No group of ours ends the sign-on and takes away what was given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.errors import InvalidInputError
from dashboard.domain.permissions import Actor, Grant
from dashboard.domain.states import ActorKind
from dashboard.domain.text import visible
from dashboard.models import Identity, User
from dashboard.services import audit
from dashboard.services.grant_rows import check_duties, grants_of
from dashboard.services.granting import replace_grants
from dashboard.services.sign_in import NO_GRANTS, SignedIn
from dashboard.services.throttling import ACTION, Refused, already_told
from dashboard.services.users import clean_email, insert, is_email, person_of

DISABLED = "account_disabled"
EMAIL_MISSING = "email_missing"
EMAIL_UNVERIFIED = "email_unverified"
EMAIL_TAKEN = "email_taken"
MIXED = "grant_mixes_admin"
SUBJECT_INVALID = "subject_invalid"
PROVIDER = "(identity provider)"
LONGEST = 255


@dataclass(frozen=True)
class Claims:
    """What the provider says, checked and signed: who it is, and whether the address is theirs."""

    issuer: str
    subject: str
    email: str
    email_verified: bool
    groups: tuple[str, ...]


def claims_from(found: Mapping[str, Any], *, issuer: str, groups_claim: str) -> Claims:
    """Read the claims of a token that has been verified; a group may come alone or in a list."""
    groups = found.get(groups_claim)
    given = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    return Claims(
        issuer=issuer,
        subject=str(found.get("sub") or ""),
        email=clean_email(str(found.get("email") or "")),
        # Some providers write the word instead of the value.
        email_verified=found.get("email_verified") in (True, "true"),
        groups=tuple(str(each) for each in given),
    )


def sign_on(
    database: Database, *, claims: Claims, grants: tuple[Grant, ...], address: str | None, request_id: str | None
) -> SignedIn | Refused:
    """Let the person in whom the claims name, with these grants, and audit the outcome."""
    known_as = claims.email if is_email(claims.email) else PROVIDER
    actor = Actor(ActorKind.USER, known_as, address=address, request_id=request_id)
    return transact(database, lambda session: _settle(session, actor=actor, claims=claims, grants=grants))


def refuse(database: Database, *, code: str, address: str | None, request_id: str | None, detail: str = "") -> Refused:
    """Audit a sign-on that failed before anybody was known."""
    actor = Actor(ActorKind.USER, PROVIDER, address=address, request_id=request_id)
    evidence = {"detail": visible(detail)[:LONGEST]}
    return transact(database, lambda session: _refused(session, actor=actor, code=code, evidence=evidence))


def _settle(session: Session, *, actor: Actor, claims: Claims, grants: tuple[Grant, ...]) -> SignedIn | Refused:
    evidence = {"issuer": claims.issuer, "subject": visible(claims.subject)[:LONGEST], "email": claims.email}
    code = _unfit(claims) or (MIXED if check_duties(grants) else None)
    if code:
        return _refused(session, actor=actor, code=code, evidence=evidence)
    user = _user_of(session, claims)
    if user is None and grants:
        user = _add(session, actor=actor, claims=claims)
        if user is None:
            return _refused(session, actor=actor, code=EMAIL_TAKEN, evidence=evidence)
    # A person whose address changed at the provider keeps the name the log knows.
    actor = replace(actor, id=user.email) if user else actor
    code = _withheld(session, user, actor=actor, grants=grants)
    if code or user is None:
        return _refused(session, actor=actor, code=code or NO_GRANTS, evidence=evidence)
    audit.append(session, actor=actor, action=ACTION, subject=actor.id, now=clock(session), evidence=evidence)
    return SignedIn(person_of(user, grants_of(session, user.id)))


def _unfit(claims: Claims) -> str | None:
    """Say why these claims name nobody, whoever it is."""
    if not claims.subject or len(claims.subject) > LONGEST or visible(claims.subject) != claims.subject:
        return SUBJECT_INVALID
    if not is_email(claims.email):
        return EMAIL_MISSING
    return None if claims.email_verified else EMAIL_UNVERIFIED


def _user_of(session: Session, claims: Claims) -> User | None:
    return session.scalar(
        select(User)
        .join(Identity, Identity.user_id == User.id)
        .where(Identity.issuer == claims.issuer, Identity.subject == claims.subject)
        .with_for_update()
    )


def _add(session: Session, *, actor: Actor, claims: Claims) -> User | None:
    """Make the account at the first sign-on; None where somebody else has the address."""
    now = clock(session)
    try:
        user = insert(session, User(email=claims.email, password_hash="", created_at=now))
    except InvalidInputError:
        # Two windows of one person may sign on for the first time at once.
        return _user_of(session, claims)
    session.add(Identity(user_id=user.id, issuer=claims.issuer, subject=claims.subject, created_at=now))
    session.flush()
    after = {"issuer": claims.issuer, "subject": claims.subject}
    audit.append(session, actor=actor, action="user_signed_on", subject=user.email, now=now, after=after)
    return user


def _withheld(session: Session, user: User | None, *, actor: Actor, grants: tuple[Grant, ...]) -> str | None:
    """Give the person what the groups say, and say why they are not let in all the same."""
    if user is None:
        return NO_GRANTS
    if user.disabled_at:
        return DISABLED
    replace_grants(session, actor=actor, user=user, grants=grants, now=clock(session))
    return None if grants else NO_GRANTS


def _refused(session: Session, *, actor: Actor, code: str, evidence: Mapping[str, str]) -> Refused:
    now = clock(session)
    if not already_told(session, actor=actor, code=code, now=now):
        audit.append(
            session,
            actor=actor,
            action=ACTION,
            subject=actor.id,
            now=now,
            outcome=audit.REFUSED,
            reason=code,
            evidence=evidence,
        )
    return Refused(code)
