"""The demo alive: a worker, destinations that fail as real ones do, and new operations every few seconds.

All of it are threads of the demo's own process, so that nothing is left behind when it ends.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from threading import Thread

import httpx
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dashboard import ledger
from dashboard.cli.demo_shop import POLICIES
from dashboard.cli.demo_shop.catalogue import new_operation, some_work
from dashboard.cli.demo_shop.memory import remind
from dashboard.cli.demo_shop.outside import running
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.states import ActorKind
from dashboard.models import Operation
from dashboard.services import work
from dashboard.services.policies import load_policies

ADDRESS = "DEMO_DESTINATIONS_URL"
TIMEOUT_SECONDS = 2.0
CONCURRENCY = 3
EVERY_SECONDS = 4.0
# After twenty minutes the shop goes quiet, so that a demo left open overnight does not bury what people look at.
LIVELY = 300
QUIET = 30
SHOP = Actor(ActorKind.API, "demo shop")


@contextmanager
def alive(url: str) -> Iterator[None]:
    """Let the shop in this database work until the block ends; what is in hand then is finished."""
    still = load_policies(POLICIES)
    honours = {name for name, known in still.destinations.items() if known.honours_idempotency_key}
    database = Database(url, pool_size=CONCURRENCY + len(work.PIECES) + 1)
    with running(honours=honours) as outside:
        with reading(database) as session:
            remind(session, outside)
        os.environ[ADDRESS] = outside.url
        context = work.Context(
            load_policies(POLICIES), ledger.worker_actor(), handlers(outside.url), concurrency=CONCURRENCY
        )
        pieces = (*work.PIECES, work.Piece("traffic", Traffic().run, every=EVERY_SECONDS))
        worker = Thread(target=work.run, args=(database, context), kwargs={"pieces": pieces}, name="worker")
        worker.start()
        try:
            yield
        finally:
            context.stop.set()
            worker.join()
            del os.environ[ADDRESS]
            database.dispose()


def handlers(url: str) -> ledger.Handlers:
    """How the shop sends: one request to the operation's destination."""
    registry = ledger.Handlers()
    client = httpx.Client(base_url=url, timeout=TIMEOUT_SECONDS, trust_env=False)

    @registry.handles(*load_policies(POLICIES).types, single_request=True)
    def send(asked: ledger.Work) -> ledger.Confirmed:
        answer = client.post(
            f"/{asked.destination}/effects",
            json={"operation_id": asked.operation_id, "type": asked.type, **asked.expected},
            headers={"Idempotency-Key": asked.idempotency_key},
        )
        told = answer.json()
        if answer.is_error:
            words = f"{answer.status_code}: {told['error']}"
            raise httpx.HTTPStatusError(words, request=answer.request, response=answer)
        return ledger.Confirmed(told["id"], {"status": answer.status_code, "effect": told["status"]})

    return registry


@dataclass
class Traffic:
    """What customers do: a new operation each time, and far fewer once enough has happened."""

    rounds: int = 0
    random: Random = field(default_factory=Random)

    def run(self, database: Database, context: work.Context) -> bool:
        """Register one operation as a host would; says that nothing is left to do, so that time passes."""
        self.rounds += 1
        if self.rounds <= LIVELY or self.rounds % QUIET == 0:
            transact(database, lambda session: self._register(session, context))
        return False

    def _register(self, session: Session, context: work.Context) -> None:
        number = (session.scalar(select(func.max(Operation.id))) or 0) + 1
        made = new_operation(self.random, some_work(self.random), number=number, created_at=clock(session))
        del made["kind"], made["fingerprint"]
        ledger.register(session, ledger.NewOperation(**made), policies=context.policies, actor=SHOP)
