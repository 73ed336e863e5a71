"""The rows of one operation of a benchmark and all that hangs on it, as every engine stores them.

Values are what a driver sends as it is: text, whole numbers, bytes and None. Moments are text in UTC, which PostgreSQL
reads in a session in UTC, and which is the very form in which SQLite and MariaDB store them.
"""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from dashboard.bench import shop
from dashboard.bench.shop import AWAITING, COMPENSATED, PENDING, PROCESSING, RETRY, REVIEW, Kind, Size

Row = tuple[Any, ...]

OPERATION = (
    *("id", "operation_id", "tenant", "type", "entity_type", "entity_id", "expected_version", "fingerprint"),
    *("expected", "destination", "state", "revision", "attempts", "next_attempt_at", "deadline_at", "lease_token"),
    *("lease_until", "idempotency_key", "remote_id", "correlation_id", "amount", "currency", "cause", "verdict"),
    *("verdict_at", "closed_reason", "created_at", "state_since", "updated_at", "confirmed_at"),
)
EVENT = (
    *("operation_id", "seq", "at", "kind", "from_state", "to_state", "actor_kind", "actor_id"),
    *("cause", "reason", "evidence"),
)
WORKER, RECONCILER, OPERATOR = (
    ("worker", "worker-1"),
    ("reconciler", "reconciler-1"),
    ("user", "operator@bench.example"),
)
LOST = "timeout after 30 s: the answer never came"
REPAIRED = "The provider's console shows it, so the order was put right by hand."

_KINDS = shop.spread([(kind, kind.share) for kind in shop.KINDS])
_TENANTS, _OPEN = shop.spread(shop.TENANTS), shop.spread(shop.OPEN_STATES)
_ENDINGS, _VERDICTS, _CAUSES = shop.spread(shop.ENDINGS), shop.spread(shop.VERDICTS), shop.spread(shop.CAUSES)


def stored(at: datetime) -> str:
    """A moment as it is stored."""
    return at.replace(tzinfo=None).isoformat(" ", "microseconds")


class Life:
    """One operation from its creation on: `row` and `events` are what is stored of it."""

    __slots__ = ("at", "bits", "created", "ending", "events", "expected", "kind", "number", "row", "tenant")

    def __init__(self, number: int, size: Size, *, bits: int, now: datetime) -> None:
        self.number, self.bits = number, bits
        self.kind: Kind = shop.RARE_KIND if shop.is_rare(number, size, offset=1) else _KINDS[bits % len(_KINDS)]
        self.tenant = (
            shop.RARE_TENANT if shop.is_rare(number, size, offset=0) else _TENANTS[(bits >> 10) % len(_TENANTS)]
        )
        self.created = self.at = shop.moment(number, size, now=now)
        self.events: list[Row] = []
        if shop.is_open(number, size):
            self.ending = str(_OPEN[(bits >> 20) % len(_OPEN)])
            self._stay_open()
        else:
            self.ending = _ENDINGS[(bits >> 20) % len(_ENDINGS)]
            self._end()

    @property
    def operation_id(self) -> str:
        """The public id."""
        return f"{self.kind.slug}-{self.number:08}-{self.bits >> 96:08x}"

    @property
    def key(self) -> str:
        """The idempotency key."""
        return f"{self.kind.type}:{self.number}"

    @property
    def entity_id(self) -> str:
        """What it is about: some have several operations."""
        return str(300 + (self.bits >> 40) % 1_000_000)

    @property
    def verdict(self) -> str:
        """What the last look said of one that needs a person."""
        return _VERDICTS[(self.bits >> 30) % len(_VERDICTS)]

    def _stay_open(self) -> None:
        state = self.ending
        if state == PENDING:
            self._keep(PENDING, attempts=0)
            return
        self._move(PENDING, PROCESSING, WORKER, seconds=1)
        if state == PROCESSING:
            until = stored(self.at + timedelta(minutes=1))
            self._keep(state, lease=(f"{self.bits & 0xFFFFFFFFFFFF:012x}", until))
        elif state == RETRY:
            cause = self._put_off()
            self._keep(state, cause=cause, next_attempt=stored(self.at + timedelta(minutes=5)))
        elif state == AWAITING:
            self._lose_answer()
            self._keep(state, cause="sent_unknown", next_attempt=stored(self.at + timedelta(minutes=10)))
        else:
            self._lose_answer()
            verdict, at = self._look(self.verdict, seconds=600)
            self._move(AWAITING, REVIEW, RECONCILER, seconds=0, reason=f"verdict {verdict}")
            self._keep(state, cause="sent_unknown", verdict=(verdict, at))

    def _end(self) -> None:
        ending = self.ending
        self._move(PENDING, PROCESSING, WORKER, seconds=1)
        if ending == shop.AT_ONCE:
            self._confirm(PROCESSING, WORKER, seconds=self.kind.seconds * (0.4 + (self.bits >> 60) % 40 / 20))
            return
        if ending == shop.RETRIED:
            cause = self._put_off()
            self._move(RETRY, PROCESSING, WORKER, seconds=60)
            self._confirm(PROCESSING, WORKER, seconds=self.kind.seconds, cause=cause, attempts=2)
            return
        self._lose_answer()
        if ending == shop.PROBED:
            found = self._look("correct", seconds=400 + (self.bits >> 60) % 9000)
            self._confirm(AWAITING, RECONCILER, seconds=0, cause="sent_unknown", verdict=found)
            return
        found = self._look("divergent" if ending == COMPENSATED else "absent", seconds=600)
        self._move(AWAITING, REVIEW, RECONCILER, seconds=0, reason=f"verdict {found[0]}")
        closed = None if ending == COMPENSATED else "written_off"
        target = COMPENSATED if closed is None else "not_applicable"
        self._move(REVIEW, target, OPERATOR, seconds=5400, reason=REPAIRED)
        self._keep(target, cause="sent_unknown", verdict=found, closed=closed)

    def _tell(self, kind: str, who: tuple[str, str], *more: Any) -> None:
        self.events.append((self.number, len(self.events) + 1, stored(self.at), kind, *more[:2], *who, *more[2:]))

    def _move(self, source: str, target: str, who: tuple[str, str], *, seconds: float, reason: str | None = None,
              cause: str | None = None, evidence: str | None = None) -> None:  # fmt: skip
        self.at += timedelta(seconds=seconds)
        self._tell("transition", who, source, target, cause, reason, evidence)

    def _put_off(self) -> str:
        cause = _CAUSES[(self.bits >> 50) % len(_CAUSES)]
        self.at += timedelta(seconds=2)
        self._tell("attempt", WORKER, None, None, cause, "the destination was away", None)
        self._move(PROCESSING, RETRY, WORKER, seconds=0, cause=cause)
        return cause

    def _lose_answer(self) -> None:
        self.at += timedelta(seconds=30)
        self._tell("attempt", WORKER, None, None, "sent_unknown", LOST, None)
        self._move(PROCESSING, AWAITING, WORKER, seconds=0, cause="sent_unknown")

    def _look(self, verdict: str, *, seconds: float) -> tuple[str, str]:
        self.at += timedelta(seconds=seconds)
        candidates = {"absent": 0, "ambiguous": 2}.get(verdict, 1)
        evidence = {"verdict": verdict, "actual": None, "candidates": candidates, "found": candidates}
        self._tell("probe", RECONCILER, None, None, None, None, json.dumps(evidence, separators=(",", ":")))
        return verdict, stored(self.at)

    def _confirm(self, source: str, who: tuple[str, str], *, seconds: float, **kept: Any) -> None:
        evidence = f'{{"remote_id":"{self._remote()}","status":201}}'
        self._move(source, "confirmed", who, seconds=seconds, evidence=evidence)
        self._keep("confirmed", remote=self._remote(), confirmed=stored(self.at), **kept)

    def _remote(self) -> str:
        return f"{self.kind.destination[:3]}_{self.bits >> 72 & 0xFFFFFFFFFFFF:012x}"

    def _keep(self, state: str, *, attempts: int = 1, cause: str | None = None, remote: str | None = None,
              confirmed: str | None = None, next_attempt: str | None = None, closed: str | None = None,
              lease: tuple[str | None, str | None] = (None, None),
              verdict: tuple[str | None, str | None] = (None, None)) -> None:  # fmt: skip
        """Put the columns together; the moment reached so far is that of the last change."""
        kind, number, at = self.kind, self.number, stored(self.at)
        amount, currency = self._money()
        priced = f',"amount":"{amount}","currency":"{currency}"' if amount else ""
        self.expected = f'{{"version":1,"{kind.entity_type}":"{self.entity_id}"{priced}}}'
        self.row: Row = (
            *(number, self.operation_id, self.tenant, kind.type, kind.entity_type, self.entity_id, 1),
            *(self.fingerprint, self.expected, kind.destination, state, len(self.events) + 1, attempts, next_attempt),
            *(stored(self.created + kind.deadline), *lease, self.key, remote, f"req-{self.bits >> 80:012x}"),
            *(amount, currency, cause, *verdict, closed, stored(self.created), at, at, confirmed),
        )

    @property
    def fingerprint(self) -> str:
        """As long as a real one, and another one for each operation."""
        return f"{self.bits:032x}{self.number:032x}"

    def _money(self) -> tuple[str | None, str | None]:
        if not self.kind.money:
            return None, None
        cents = 500 + (self.bits >> 64) % 240_000
        currency = shop.CURRENCIES[self.tenant]
        return (str(cents) if currency == "JPY" else f"{cents // 100}.{cents % 100:02}"), currency


def lives(numbers: range, size: Size, *, now: datetime) -> Iterator[Life]:
    """The operations of these numbers; the same for the same size, whatever was made before."""
    random = Random(f"{size.seed}/{numbers.start}")  # noqa: S311 - the same again is the point
    for number in numbers:
        yield Life(number, size, bits=random.getrandbits(128), now=now)


def snapshot_of(life: Life) -> dict[str, object]:
    """What a person saw of it when they decided."""
    verdict = "divergent" if life.ending == COMPENSATED else life.verdict if life.ending == REVIEW else "absent"
    return {"state": REVIEW, "attempts": 1, "cause": "sent_unknown", "verdict": verdict, "verdict_at": None,
            "expected": json.loads(life.expected), "actual": None}  # fmt: skip
