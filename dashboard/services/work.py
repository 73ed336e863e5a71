"""The worker: everything periodic, until it is told to stop.

Each piece in `PIECES` has a loop of its own, so that a slow destination holds up neither the others nor the rescue of
what is lost. A piece does a bounded amount of work and says whether it did something; then it runs again at once. One
that fails is logged, waits longer each time and does not stop the others. Any number of workers may share a database.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from dashboard.adapters.mail import MailServer
from dashboard.db import Database, clock, transact
from dashboard.domain.errors import LostRaceError
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind
from dashboard.domain.work import Work
from dashboard.logs import about
from dashboard.services import (
    alert_history,
    alert_sending,
    alerts,
    bulk_runs,
    evidence_looks,
    leases,
    mailing,
    proposals,
    reconciliation,
    recording,
    reservations,
    retention,
    statistics,
)
from dashboard.services.alert_letters import Place
from dashboard.services.asking import Circuit
from dashboard.services.attempts import Outcome, Unsent
from dashboard.services.handlers import Handlers
from dashboard.services.pace import Pace
from dashboard.services.policies import remember
from dashboard.services.recording import Recorder
from dashboard.services.relay import Relay
from dashboard.services.rollup_work import build_figures, count_open, fold_figures

ORIGIN = "worker"
LOOKS_AT_ONCE, PURGES_AT_ONCE = 100, 20
IDLE_SECONDS, LONGEST_IDLE_SECONDS = 1.0, 30.0

log = logging.getLogger("dashboard.worker")


@dataclass(frozen=True)
class Context:
    """Under which rules, as whom and with which handlers a worker works; `stop` ends it after the unit in hand."""

    policies: Policies
    actor: Actor
    handlers: Handlers = field(default_factory=Handlers)
    concurrency: int = 1
    lease: timedelta = leases.LEASE
    stop: threading.Event = field(default_factory=threading.Event)
    pace: Pace = field(default_factory=Pace)
    circuit: Circuit = field(default_factory=Circuit)
    relay: Relay = field(default_factory=Relay)
    mail: MailServer | None = None
    public_url: str = ""
    environment: str = ""

    @property
    def reconciler(self) -> Actor:
        """The same process where it looks instead of sending."""
        return Actor(ActorKind.RECONCILER, self.actor.id)


@dataclass(frozen=True)
class Piece:
    """One part of the work; after finding nothing to do it waits `every` seconds."""

    name: str
    run: Callable[[Database, Context], bool]
    every: float = IDLE_SECONDS


def rescue_lost(database: Database, context: Context) -> bool:
    """Take what dead workers held to where it is looked up."""
    return transact(database, lambda session: _rescue(session, context)) > 0


def lapse_keys(database: Database, _context: Context) -> bool:
    """Show the idempotency keys whose owner went silent as what they are: nobody knows what became of them."""
    return transact(database, reservations.lapse) > 0


def send_due(database: Database, context: Context) -> bool:
    """Claim what is due and send it through the handlers, outside any transaction."""
    if not context.handlers.types:
        return False
    began = time.monotonic()
    claimed = claim(database, context, limit=context.pace.limit(context.concurrency))
    if not claimed:
        return False
    recorder = Recorder(database, context.policies, context.actor)
    with ThreadPoolExecutor(context.concurrency, thread_name_prefix="handler") as threads:
        for work in claimed:
            threads.submit(work_off, context, work, began=began, put=recorder.put)
        recorder.record(len(claimed))
    context.pace.took(time.monotonic() - began, operations=len(claimed), concurrency=context.concurrency)
    return True


def reconcile(database: Database, context: Context) -> bool:
    """Look at what is due at its destination and do what policy allows."""
    made = reconciliation.run(
        database,
        policies=context.policies,
        actor=context.reconciler,
        origin=ORIGIN,
        limit=LOOKS_AT_ONCE,
        stop=context.stop.is_set,
        circuit=context.circuit,
    )
    return made is not None


def judge_evidence(database: Database, context: Context) -> bool:
    """Judge what destinations sent by themselves, where nobody could when it came."""
    return evidence_looks.take_up(database, policies=context.policies, actor=context.reconciler)


def publish(database: Database, context: Context) -> bool:
    """Publish what waits in the outbox."""
    return bool(context.relay.run_once(database, sinks=context.policies.sinks, stop=context.stop.is_set))


def remember_policies(database: Database, context: Context) -> bool:
    """Keep the policy version that decisions from here will name."""
    return transact(database, lambda session: remember(session, context.policies, now=clock(session)))


def purge_expired(database: Database, context: Context) -> bool:
    """Purge what policy keeps no longer, some batches at a time."""
    stop = context.stop.is_set
    purged = retention.purge(
        database, policies=context.policies, actor=context.actor, batches=PURGES_AT_ONCE, stop=stop
    )
    return bool(alert_history.purge(database, stop=stop)) or bool(purged)


def end_lapsed(database: Database, context: Context) -> bool:
    """End the proposals that no longer stand."""
    return proposals.sweep(database, policies=context.policies)


def carry_out_plans(database: Database, context: Context) -> bool:
    """Carry out the next rows of the plans that are under way."""
    return bulk_runs.run_due(database, policies=context.policies, stop=context.stop.is_set)


def tell_approvers(database: Database, context: Context) -> bool:
    """Mail those who can approve what was proposed, where a server for mail is set up."""
    server = context.mail
    return server is not None and mailing.tell_approvers(database, server=server, public_url=context.public_url)


def watch(database: Database, context: Context) -> bool:
    """Look at the rules of alerts, and write down what there is to tell."""
    alerts.evaluate(database, policies=context.policies, place=Place(context.environment, context.public_url))
    return False


def send_notices(database: Database, context: Context) -> bool:
    """Send what there is to tell; apart from looking, for neither may hold up the other."""
    ways = alert_sending.Ways(context.policies.alerts, context.mail)
    return alert_sending.send_due(database, ways, stop=context.stop.is_set) == alert_sending.AT_ONCE


PIECES: tuple[Piece, ...] = (
    Piece("policies", remember_policies, every=3600.0),
    Piece("rescue", rescue_lost),
    Piece("keys", lapse_keys, every=5.0),
    Piece("send", send_due),
    Piece("reconcile", reconcile, every=2.0),
    Piece("publish", publish),
    Piece("evidence", judge_evidence, every=10.0),
    Piece("proposals", end_lapsed, every=10.0),
    Piece("plans", carry_out_plans),
    Piece("mail", tell_approvers, every=10.0),
    Piece("retention", purge_expired, every=3600.0),
    Piece("rollups", fold_figures, every=5.0),
    Piece("figures", build_figures, every=600.0),
    Piece("open", count_open, every=10.0),
    Piece("alerts", watch, every=30.0),
    Piece("notices", send_notices, every=5.0),
    Piece("statistics", statistics.refresh, every=6 * 3600.0),
)


def run(database: Database, context: Context, *, pieces: Sequence[Piece] = PIECES) -> None:
    """Run all pieces side by side until `context.stop` is set; what was begun is finished."""
    loops = [threading.Thread(target=_loop, args=(database, context, piece), name=piece.name) for piece in pieces]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join()


def run_once(database: Database, context: Context, *, pieces: Sequence[Piece] = PIECES) -> bool:
    """Run all pieces in turn until none finds more to do; False as soon as one failed."""
    busy = True
    while busy and not context.stop.is_set():
        results = [_run(database, context, piece) for piece in pieces]
        if None in results:
            return False
        busy = any(results)
    return True


def claim(database: Database, context: Context, *, limit: int) -> tuple[Work, ...]:
    """Claim due operations and commit it, so that no lock is held while they are worked on."""

    def extend(work: Work) -> None:
        transact(database, lambda session: leases.heartbeat(session, work, lease=context.lease))

    return transact(
        database,
        lambda session: leases.claim(
            session,
            types=context.handlers.types,
            policies=context.policies,
            actor=context.actor,
            heartbeat=extend,
            limit=limit,
            lease=context.lease,
        ),
    )


def perform(database: Database, context: Context, work: Work) -> None:
    """Send one claimed operation and record what became of it; a lost lease changes nothing and is logged."""
    outcome = context.handlers.attempt(work)
    recording.keep(database, [(work, outcome)], policies=context.policies, actor=context.actor)


def _rescue(session: Session, context: Context) -> int:
    return leases.rescue(session, policies=context.policies, actor=context.actor)


def work_off(context: Context, work: Work, *, began: float, put: Callable[[Work, Outcome | None], None]) -> None:
    """Send one of a batch whose claim began at this monotonic time, unless the worker is to stop or has lost it."""
    outcome: Outcome | None = None
    try:
        if context.stop.is_set():
            outcome = Unsent()
        elif _still_held(context, work, began=began):
            outcome = context.handlers.attempt(work)
    except Exception:
        log.exception(recording.LEFT, work.operation_id, extra=work.named)
    put(work, outcome)


def _still_held(context: Context, work: Work, *, began: float) -> bool:
    """Before anything is sent: an operation that waited long for its turn may be somebody else's by now."""
    if time.monotonic() - began < context.lease.total_seconds() / 3:
        return True
    try:
        work.heartbeat()
    except LostRaceError:
        log.warning("operation %s lost its lease before it was sent", work.operation_id, extra=work.named)
        return False
    return True


def _loop(database: Database, context: Context, piece: Piece) -> None:
    failures = 0
    while not context.stop.is_set():
        result = _run(database, context, piece)
        failures = failures + 1 if result is None else 0
        if not result:
            pause = min(IDLE_SECONDS * 2 ** min(failures, 8), LONGEST_IDLE_SECONDS)
            context.stop.wait(max(pause, piece.every))


def _run(database: Database, context: Context, piece: Piece) -> bool | None:
    """Whether the piece did something; None where it failed."""
    try:
        with about(piece=piece.name, worker=context.actor.id):
            return piece.run(database, context)
    except OperationalError as error:
        log.error("%s: the database cannot be used: %s", piece.name, error.orig)  # noqa: TRY400 - no bug of ours
    except Exception:
        log.exception("%s failed", piece.name)
    return None
