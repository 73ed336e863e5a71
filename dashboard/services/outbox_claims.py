"""Which outbox messages go out next: claims with a lease and a token, and what became of each claim.

A key is claimed from its head (its oldest unpublished message) on; where few keys have any, with what follows it
without a gap. Keys are walked one by one along an index, so a claim costs what it takes and neither the published
history nor a long queue behind one head. A message whose lease
ran out is a suspect: the relay may have died of it, so it is claimed alone, and is dead once its claims are used up.
"""

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from sqlalchemy import ColumnElement, Integer, Table, bindparam, literal, literal_column, or_, select, text, update
from sqlalchemy.orm import Session, aliased

from dashboard.db import ExactText, clock
from dashboard.domain.messages import MESSAGE_RETRY, MessageState, Outgoing
from dashboard.domain.policy import retry_delay
from dashboard.models import Operation, OutboxMessage

LEASE = timedelta(seconds=60)
AT_ONCE = 100
KEYS_A_STEP = 200
KEYS_A_CLAIM = 2000
# With more keys than this, one message of each keeps the lanes busy.
FEW_KEYS = 20
USED_UP = "claimed {claims} times, and each time the relay ended before the message did"

MESSAGES: Table = OutboxMessage.metadata.tables["outbox_messages"]
FORCED = "FORCE INDEX (ix_outbox_messages_open_key)"
IS_OPEN: ColumnElement[bool] = literal_column("outbox_messages.is_open = 1")

_NAMES = (bindparam("sink", type_=ExactText(64)), bindparam("after", type_=ExactText(255)))
# The recursive part finds, from one key, the oldest open message of the next key.
_WALK = text(
    """
    WITH RECURSIVE heads (id, step) AS (
      SELECT (SELECT first.id FROM outbox_messages first
              WHERE first.is_open = 1 AND first.sink = :sink AND first.aggregate_key > :after
              ORDER BY first.aggregate_key, first.id LIMIT 1), 1
      UNION ALL
      SELECT (SELECT next.id FROM outbox_messages next
              WHERE next.is_open = 1 AND next.sink = :sink AND next.aggregate_key >
                    (SELECT here.aggregate_key FROM outbox_messages here WHERE here.id = heads.id)
              ORDER BY next.aggregate_key, next.id LIMIT 1), heads.step + 1
      FROM heads WHERE heads.id IS NOT NULL AND heads.step < :steps
    )
    SELECT head.id, head.aggregate_key
    FROM heads JOIN outbox_messages head ON head.id = heads.id ORDER BY heads.step
    """
).bindparams(*_NAMES)
# MariaDB reads the index from its beginning for each of those steps; read once, it is a range. Left to itself it may
# read the published history of the sink instead.
_WALK_BY_GROUPS = text(
    """
    SELECT MIN(id) AS id, aggregate_key FROM outbox_messages FORCE INDEX (ix_outbox_messages_open_key)
    WHERE is_open = 1 AND sink = :sink AND aggregate_key > :after
    GROUP BY aggregate_key ORDER BY aggregate_key LIMIT :steps
    """
).bindparams(*_NAMES)

_BEHIND = (
    select(OutboxMessage.id)
    .where(
        IS_OPEN,
        OutboxMessage.sink == bindparam("sink"),
        OutboxMessage.aggregate_key == bindparam("key"),
        OutboxMessage.id > bindparam("head"),
    )
    .order_by(OutboxMessage.id)
    .limit(bindparam("limit", type_=Integer))
    .with_hint(OutboxMessage, FORCED, "mysql")
)


@dataclass(frozen=True)
class Claim:
    """Messages held under one token, by the database's clock.

    The next claim goes on behind the key `after`. `died` counts suspects whose claims were used up; `suspects` tells
    whether others wait to be claimed alone.
    """

    token: str
    messages: tuple[Outgoing, ...]
    claimed_at: datetime
    after: str
    died: int = 0
    suspects: bool = False


def claim(
    session: Session,
    *,
    sink: str,
    max_claims: int,
    after: str = "",
    limit: int = AT_ONCE,
    suspect: bool = False,
    lease: timedelta = LEASE,
) -> Claim:
    """Claim up to `limit` due messages of this sink and count the claim; with `suspect`, a single suspect instead.

    The walk begins behind the key `after` and goes round once. Suspects whose claims are used up die here.
    """
    now = clock(session)
    chosen: dict[int, Any] = {}
    others: set[int] = set()
    used_up: dict[int, int] = {}
    wanted = 1 if suspect else limit
    for rows, reached in _steps(session, sink=sink, after=after, now=now):
        for row in rows:
            if row.lease_token is not None and row.claims >= max_claims:
                used_up[row.id] = row.claims
            elif (row.lease_token is not None) != suspect:
                others.add(row.id)
            elif len(chosen) < wanted:
                chosen[row.id] = row
                after = row.aggregate_key
        if len(chosen) == wanted:
            break
        after = reached
    _bury(session, used_up)
    if not suspect and 0 < len(chosen) <= FEW_KEYS:
        chosen |= _following(session, chosen, sink=sink, each=limit // len(chosen) - 1, now=now)
    token = _hold(session, list(chosen), until=now + lease)
    suspects = bool(others) and not suspect
    return Claim(token, _load(session, list(chosen)), now, after, died=len(used_up), suspects=suspects)


def waiting_sinks(session: Session, *, sinks: Collection[str]) -> tuple[str, ...]:
    """Those of the sinks that have anything to publish, due or not: a cheap look before the walk."""
    anything = select(literal(1)).where(IS_OPEN, OutboxMessage.sink == bindparam("sink")).limit(1)
    anything = anything.with_hint(OutboxMessage, FORCED, "mysql")
    return tuple(sink for sink in sinks if session.scalar(anything, {"sink": sink}) is not None)


def mark_published(session: Session, *, token: str, numbers: Sequence[int]) -> int:
    """Record that these messages were taken; returns how many were still held under the token."""
    done = {"state": MessageState.PUBLISHED.value, "published_at": clock(session), "last_error": None}
    return _settle(session, token=token, numbers=numbers, values=done)


def mark_dead(session: Session, *, token: str, number: int, reason: str) -> int:
    """Record that a message will never be taken as it is."""
    return _settle(
        session, token=token, numbers=[number], values={"state": MessageState.DEAD.value, "last_error": reason}
    )


def mark_failed(
    session: Session, *, token: str, message: Outgoing, reason: str, max_claims: int, jitter: float
) -> MessageState:
    """Record a failure of the message itself: tried again later, dead once its claims are used up."""
    if message.claims >= max_claims:
        mark_dead(session, token=token, number=message.number, reason=reason)
        return MessageState.DEAD
    wait = retry_delay(MESSAGE_RETRY, attempts=message.claims, jitter=jitter)
    values = {"next_attempt_at": clock(session) + wait, "last_error": reason}
    _settle(session, token=token, numbers=[message.number], values=values)
    return MessageState.PENDING


def release(session: Session, *, token: str, numbers: Sequence[int]) -> int:
    """Give messages back as if they had never been claimed."""
    return _settle(session, token=token, numbers=numbers, values={"claims": MESSAGES.c.claims - 1})


def _settle(session: Session, *, token: str, numbers: Sequence[int], values: Mapping[str, object]) -> int:
    if not numbers:
        return 0
    held = update(MESSAGES).where(
        MESSAGES.c.id.in_(numbers),
        MESSAGES.c.lease_token == token,
        MESSAGES.c.state == MessageState.PENDING.value,
    )
    result = session.connection().execute(held.values(lease_token=None, lease_until=None, **values))
    return int(result.rowcount)


def _steps(session: Session, *, sink: str, after: str, now: datetime) -> Iterator[tuple[Sequence[Any], str]]:
    """Walk from key to key, some at a time: the claimable heads of each step, locked, and the key it reached."""
    walk = _WALK_BY_GROUPS if session.get_bind().dialect.name == "mysql" else _WALK
    walked, wrapped = 0, not after
    while walked < KEYS_A_CLAIM:
        heads = session.execute(walk, {"sink": sink, "after": after, "steps": KEYS_A_STEP}).all()
        walked += len(heads)
        is_last = len(heads) < KEYS_A_STEP
        after = "" if is_last else heads[-1].aggregate_key
        yield _claimable(session, [row.id for row in heads], now=now), after
        if is_last and wrapped:
            return
        wrapped = wrapped or is_last


def _claimable(session: Session, numbers: Sequence[int], *, now: datetime) -> Sequence[Any]:
    """Lock those of the heads that are due and not leased, and give the ones that are not behind a dead one.

    State and dead letters are columns here and not conditions, lest an engine begins with all messages of a state.
    """
    if not numbers:
        return ()
    message, dead = OutboxMessage, aliased(OutboxMessage)
    blocked = (
        select(dead.id)
        .where(
            dead.sink == message.sink,
            dead.aggregate_key == message.aggregate_key,
            dead.state == MessageState.DEAD.value,
            dead.id < message.id,
        )
        .limit(1)
        .scalar_subquery()
    )
    columns = (message.id, message.aggregate_key, message.claims, message.lease_token, message.state)
    rows = session.execute(
        select(*columns, blocked.label("blocked_by"))
        .where(
            message.id.in_(numbers),
            message.next_attempt_at <= now,
            or_(message.lease_until.is_(None), message.lease_until <= now),
        )
        .order_by(message.aggregate_key)
        .with_for_update(skip_locked=True)
    )
    return [row for row in rows if row.state == MessageState.PENDING and row.blocked_by is None]


def _following(session: Session, heads: Mapping[int, Any], *, sink: str, each: int, now: datetime) -> dict[int, Any]:
    """What comes next behind each head, up to the first that cannot go out with it; the rows are locked."""
    following: dict[int, Any] = {}
    for head in heads.values() if each > 0 else ():
        numbers = session.scalars(
            _BEHIND, {"sink": sink, "key": head.aggregate_key, "head": head.id, "limit": each}
        ).all()
        free = {row.id: row for row in _claimable(session, numbers, now=now) if row.lease_token is None}
        following |= {number: free[number] for number in takewhile(free.__contains__, numbers)}
    return following


def _hold(session: Session, numbers: Sequence[int], *, until: datetime) -> str:
    token = secrets.token_hex(16)
    if numbers:
        held = update(MESSAGES).where(MESSAGES.c.id.in_(numbers))
        session.execute(held.values(lease_token=token, lease_until=until, claims=MESSAGES.c.claims + 1))
    return token


def _bury(session: Session, used_up: Mapping[int, int]) -> None:
    for number, claims in used_up.items():
        values = {"state": MessageState.DEAD.value, "last_error": USED_UP.format(claims=claims)}
        session.execute(
            update(MESSAGES).where(MESSAGES.c.id == number).values(lease_token=None, lease_until=None, **values)
        )


def _load(session: Session, numbers: Sequence[int]) -> tuple[Outgoing, ...]:
    if not numbers:
        return ()
    message = OutboxMessage
    rows = session.execute(
        select(
            message.id.label("number"),
            message.message_id,
            message.tenant,
            message.type,
            message.topic,
            message.aggregate_key,
            message.payload,
            message.created_at,
            message.claims,
            Operation.operation_id,
        )
        .outerjoin(Operation, Operation.id == message.operation_id)
        .where(message.id.in_(numbers))
        .order_by(message.id)
    )
    return tuple(Outgoing(**row) for row in rows.mappings())
