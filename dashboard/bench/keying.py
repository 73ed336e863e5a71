"""What an idempotency key costs: beside a bare INSERT and UPDATE, and beside a request that takes none.

Both sides run in turn, one of each, so that a busy machine slows them alike.
"""

import secrets
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Connection

from dashboard.bench.scratch import TENANT, TYPE, Progress
from dashboard.db import Database
from dashboard.domain.reservations import Answer, Owned
from dashboard.idempotency import Idempotency, Request
from dashboard.idempotency.views import idempotent

STEP = 25
SECRET = b"of a benchmark"
ORDER = {"order": "452", "amount": "318.93", "currency": "EUR"}
ANSWER = Answer(201, (("Content-Type", "application/json"),), b'{"charge":"ch_1"}')
PLAIN, PROTECTED, AGAIN = ADDRESSES = ("/plain", "/protected", "/again")

# What somebody would write who needs no more than a key and an answer, in the placeholders of each driver.
_BARE_INSERT = (
    "INSERT INTO idempotency_records (tenant, operation, {key}, fingerprint, field_digests, state, owner_token, "
    "lease_until, created_at, updated_at) VALUES (?, ?, ?, ?, '{{}}', 'processing', ?, {now}, {now}, {now})"
)
_BARE_UPDATE = (
    "UPDATE idempotency_records SET state = 'completed', response_status = 201, response_headers = '[]', "
    "response_body = ?, completed_at = {now}, updated_at = {now}, expires_at = {now} "
    "WHERE tenant = ? AND operation = ? AND {key} = ?"
)
_NOW = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
    "postgresql": "clock_timestamp()",
    "mysql": "UTC_TIMESTAMP(6)",
}


@dataclass
class Cost:
    """Seconds for each of many: `wall` is what a clock on the wall shows, `processor` what this process used."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    @contextmanager
    def timed(self) -> Iterator[None]:
        wall, processor = time.perf_counter(), time.process_time()
        yield
        self.wall.append(time.perf_counter() - wall)
        self.processor.append(time.process_time() - processor)


def usual(seconds: list[float]) -> float:
    """The median: the middle of what was seen, whatever the machine did meanwhile."""
    return statistics.median(seconds)


def pairs(database: Database, *, count: int, progress: Progress) -> tuple[Cost, Cost]:
    """A bare INSERT and UPDATE, and reserving and completing, in turn on one connection; each step is committed."""
    bare, kept, run = Cost(), Cost(), secrets.token_hex(4)
    insert, update = _bare(database.dialect)
    with database.engine.connect() as connection:
        layer = Idempotency(database, SECRET).within(connection)
        connection.commit()
        for number in range(count):
            name = f"bench-{run}-{number:08}"
            with bare.timed():
                _bare_pair(connection, insert, update, f"{name}-bare")
            request = layer.request(tenant=TENANT, operation=TYPE, key=name, payload=ORDER)
            with kept.timed():
                _pair(connection, layer, request)
            if number % STEP == 0:
                progress(number)
    return bare, kept


def requests(database: Database, *, count: int, progress: Progress) -> dict[str, Cost]:
    """What a request costs by address: without a key, with a new key, and with a key that was answered before."""
    run, client = secrets.token_hex(4), _host(database)
    costs = {address: Cost() for address in ADDRESSES}
    for number in range(count):
        for address, cost in costs.items():
            with cost.timed():
                _post(client, PROTECTED if address == AGAIN else address, f"bench-{run}-{number:08}")
        if number % STEP == 0:
            progress(number)
    return costs


def _pair(connection: Connection, layer: Idempotency, request: Request) -> None:
    found = layer.reserve(request)
    connection.commit()
    assert isinstance(found, Owned)  # noqa: S101 - each key is new
    layer.complete(found, ANSWER)
    connection.commit()


def _bare_pair(connection: Connection, insert: str, update: str, name: str) -> None:
    connection.exec_driver_sql(insert, (TENANT, TYPE, name, "0" * 64, "0" * 32))
    connection.commit()
    connection.exec_driver_sql(update, (ANSWER.body, TENANT, TYPE, name))
    connection.commit()


def _bare(dialect: str) -> tuple[str, str]:
    key, now = "`key`" if dialect == "mysql" else "key", _NOW[dialect]
    made = (_BARE_INSERT.format(key=key, now=now), _BARE_UPDATE.format(key=key, now=now))
    if dialect == "sqlite":
        return made
    insert, update = (each.replace("?", "%s") for each in made)
    return insert, update


def _host(database: Database) -> FlaskClient:
    """A host whose view does nothing, so that all that is measured is the way to it."""
    app, door = Flask("bench"), Idempotency(database, SECRET)
    app.add_url_rule(PLAIN, "plain", _view, methods=["POST"])
    protected = idempotent(door, TYPE, tenant=lambda: TENANT)(_view)
    app.add_url_rule(PROTECTED, "protected", protected, methods=["POST"])
    return app.test_client()


def _view() -> tuple[dict[str, str], int]:
    return {"charge": "ch_1"}, 201


def _post(client: FlaskClient, address: str, name: str) -> None:
    answer = client.post(address, json=ORDER, headers={"Idempotency-Key": name})
    if answer.status_code != ANSWER.status:
        raise AssertionError(answer.text)
