"""Tokens of the API: made once, shown once, kept as a hash, and ended by time or by an administrator.

1. `create` gives the secret, which nobody can read again: 256 bits of chance, so a plain SHA-256 keeps it.
2. `authenticate` finds the row by the secret's beginning and compares the hashes in constant time.
3. `note_use` keeps when it was last used, at most once a minute.
"""

import hmac
import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import Table, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.domain.errors import InvalidInputError, NotFoundError, OperationsError, Problem
from dashboard.domain.permissions import TOKEN_PERMISSIONS, Actor, Grant, Permission
from dashboard.domain.states import ActorKind
from dashboard.models import ApiToken
from dashboard.services import audit
from dashboard.services.grant_rows import check_grants
from dashboard.services.users import authorise

MARK = "ops_"
PREFIX = 12
LONGEST_SECRET = 128
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
SHORTEST_LIFE = timedelta(minutes=1)
LONGEST_LIFE = timedelta(days=730)
USUAL_LIFE = timedelta(days=90)
NOTED_EVERY = timedelta(minutes=1)
# What a host needs that writes its work down and reads what became of it; repairs must be asked for.
OF_A_HOST = frozenset({Permission.BROWSE, Permission.REGISTER, Permission.WORK, Permission.RESERVE})
TOKENS: Table = ApiToken.metadata.tables["api_tokens"]


class TokenRefusedError(OperationsError):
    """There is no such token, or it has ended (`token_expired`, `token_revoked`)."""

    default_code = "token_unknown"


@dataclass(frozen=True)
class Caller:
    """Who calls with a token; `unnoted` says that this use is worth writing down."""

    actor: Actor
    number: int
    tenant: str
    unnoted: bool


def create(
    session: Session,
    *,
    actor: Actor,
    name: str,
    tenant: str,
    types: Sequence[str] = (),
    permissions: Collection[Permission] = OF_A_HOST,
    expires_in: timedelta = USUAL_LIFE,
    now: datetime,
) -> tuple[ApiToken, str]:
    """Make a token and give its row and its secret, which is kept nowhere; no types means all of them.

    Raises InvalidInputError with one Problem for each bad field, and NotAllowedError.
    """
    authorise(actor)
    named = [Grant(None, tenant, kind) for kind in types or (None,)]
    if problems := _problems(name, named, permissions, expires_in):
        raise InvalidInputError(problems)
    secret = MARK + secrets.token_urlsafe(32)
    row = _insert(
        session,
        ApiToken(
            name=name,
            prefix=secret[:PREFIX],
            secret_hash=_hashed(secret),
            tenant=tenant,
            types=sorted(set(types)),
            permissions=sorted(permission.value for permission in permissions),
            created_at=now,
            created_by=actor.id,
            expires_at=now + expires_in,
        ),
    )
    audit.append(session, actor=actor, action="token_added", subject=name, now=now, tenant=tenant, after=_told(row))
    return row, secret


def revoke(session: Session, *, actor: Actor, name: str, now: datetime) -> bool:
    """End a token at once; False if it was revoked already. Raises NotFoundError and NotAllowedError."""
    authorise(actor)
    row = None
    if NAME.fullmatch(name):
        row = session.scalar(select(ApiToken).where(ApiToken.name == name).with_for_update())
    if row is None:
        raise NotFoundError("token_not_found", name=name)
    if row.revoked_at is not None:
        return False
    row.revoked_at, row.revoked_by = now, actor.id
    session.flush()
    audit.append(
        session, actor=actor, action="token_revoked", subject=name, now=now, tenant=row.tenant, before=_told(row)
    )
    return True


def list_tokens(session: Session) -> list[ApiToken]:
    """Give all tokens by name, those that have ended as well."""
    return list(session.scalars(select(ApiToken).order_by(ApiToken.name)))


def authenticate(
    session: Session, *, secret: str, now: datetime, address: str | None = None, request_id: str | None = None
) -> Caller:
    """Say who has this secret and what they may do; TokenRefusedError where nobody has, or no longer."""
    row = None
    if len(secret) <= LONGEST_SECRET and secret.isascii() and secret.isprintable():
        row = session.scalar(select(ApiToken).where(ApiToken.prefix == secret[:PREFIX]))
    # Compared even where there is no row, so that time does not tell which beginnings exist.
    if not hmac.compare_digest(row.secret_hash if row else "", _hashed(secret)) or row is None:
        raise TokenRefusedError
    if row.revoked_at is not None:
        raise TokenRefusedError("token_revoked", name=row.name)
    if row.expires_at <= now:
        raise TokenRefusedError("token_expired", name=row.name)
    actor = Actor(ActorKind.API, f"token:{row.name}", grants_of(row), address, request_id)
    unnoted = row.last_used_at is None or row.last_used_at <= now - NOTED_EVERY
    return Caller(actor, row.id, row.tenant, unnoted)


def note_use(session: Session, *, number: int, now: datetime) -> None:
    """Keep when a token was last used, unless that was less than a minute ago."""
    old = or_(TOKENS.c.last_used_at.is_(None), TOKENS.c.last_used_at <= now - NOTED_EVERY)
    session.connection().execute(update(TOKENS).where(TOKENS.c.id == number, old).values(last_used_at=now))


def grants_of(row: ApiToken) -> tuple[Grant, ...]:
    """What a token may do and where; a permission that no token may have gives nothing, whoever wrote it there."""
    given = frozenset(permission for permission in TOKEN_PERMISSIONS if permission.value in row.permissions)
    return tuple(Grant(None, row.tenant, kind, given) for kind in row.types or (None,))


def _insert(session: Session, row: ApiToken) -> ApiToken:
    try:
        with session.begin_nested():
            session.add(row)
    except IntegrityError as error:
        raise InvalidInputError((Problem("name", "token_name_taken"),)) from error
    return row


def _problems(
    name: str, grants: Sequence[Grant], permissions: Collection[Permission], expires_in: timedelta
) -> list[Problem]:
    found = [] if NAME.fullmatch(name) else [Problem("name", "token_name_invalid")]
    found += check_grants(grants)
    allowed = tuple(sorted(permission.value for permission in TOKEN_PERMISSIONS))
    if not permissions or not TOKEN_PERMISSIONS.issuperset(permissions):
        found.append(Problem("permission", "token_permission_invalid", {"allowed": allowed}))
    if not SHORTEST_LIFE <= expires_in <= LONGEST_LIFE:
        found.append(Problem("expires", "token_life_invalid", {"maximum": LONGEST_LIFE.days}))
    return found


def _hashed(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _told(row: ApiToken) -> dict[str, object]:
    return {
        "prefix": row.prefix,
        "types": row.types,
        "permissions": row.permissions,
        "expires_at": row.expires_at.isoformat(),
    }
