"""Visiting pages: through the WSGI application as a server calls it, with what each request sends to the database."""

import gc
import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from wsgiref.types import WSGIEnvironment

from flask import Flask
from pydantic import SecretStr
from sqlalchemy import event, select
from werkzeug.test import EnvironBuilder

from dashboard.app import create_app, settle
from dashboard.bench import shop
from dashboard.config import Settings
from dashboard.db import Database, reading
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import User
from dashboard.services import users

BENCH = Actor(ActorKind.SYSTEM, "bench")
PASSWORD = secrets.token_urlsafe(18)
WIDE = (Grant(Role.MANAGER), Grant(Role.OPERATOR), Grant(Role.SUPPORT))
NARROW = (
    Grant(Role.OPERATOR, shop.RARE_TENANT, shop.COMMON_TYPE),
    Grant(Role.SUPPORT, shop.RARE_TENANT, shop.RARE_TYPE),
)
WARM = 3
FEWEST = 5
MILLISECONDS = 1000
SEE_OTHER = 303

Visit = Callable[[], tuple[int, bytes]]


@dataclass(frozen=True)
class Statement:
    """What went to the driver, as it went."""

    sql: str
    parameters: Any


@dataclass
class Overheard:
    """What a request sent to the database, and how long the driver took over it."""

    statements: list[Statement] = field(default_factory=list)
    seconds: float = 0.0
    began: float = 0.0

    def before(self, _connection: Any, _cursor: Any, sql: str, parameters: Any, *_more: Any) -> None:
        if not sql.startswith("BEGIN"):
            self.statements.append(Statement(sql, parameters))
        self.began = time.perf_counter()

    def after(self, *_what: Any) -> None:
        self.seconds += time.perf_counter() - self.began


@contextmanager
def overhearing(database: Database) -> Iterator[Overheard]:
    """Note each statement for the length of a block."""
    heard = Overheard()
    for engine in database.engines:
        event.listen(engine, "before_cursor_execute", heard.before)
        event.listen(engine, "after_cursor_execute", heard.after)
    try:
        yield heard
    finally:
        for engine in database.engines:
            event.remove(engine, "before_cursor_execute", heard.before)
            event.remove(engine, "after_cursor_execute", heard.after)


def application(database: Database, *, policies: Path) -> Flask:
    """The product's own application, as it runs in production; only its cookie goes without TLS."""
    key = SecretStr(secrets.token_urlsafe(24))
    app = create_app(Settings(secret_key=key, policies=policies, cookie_secure=False), database=database)
    settle()
    return app


def signed_in(app: Flask, database: Database, *, name: str, grants: Sequence[Grant]) -> str:
    """A person with these grants signs in; gives the Cookie header of their browser."""
    email = f"{name}-{secrets.token_hex(4)}@bench.example"
    with reading(database) as session:
        assert session.scalar(select(User.id).where(User.email == email)) is None  # noqa: S101 - just dealt
    users.add_user(database, actor=BENCH, email=email, password=PASSWORD, grants=grants)
    client = app.test_client()
    token = _token_in(client.get("/login").text)
    answer = client.post("/login", data={"email": email, "password": PASSWORD, "csrf_token": token})
    if answer.status_code != SEE_OTHER:
        raise AssertionError(answer.text)
    cookie = client.get_cookie("session")
    assert cookie is not None  # noqa: S101 - signed in just now
    return f"session={cookie.value}"


def visit(app: Flask, address: str, *, cookie: str) -> Visit:
    """A request that can be sent again and again; it gives the status and the body."""
    environ = EnvironBuilder(path=address, headers=[("Cookie", cookie), ("Accept-Language", "en")]).get_environ()

    def send() -> tuple[int, bytes]:
        return _send(app, dict(environ))

    return send


@dataclass
class Took:
    """Milliseconds of each visit: by a clock on the wall, and of this process."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def usual(self) -> float:
        """The median by the clock on the wall."""
        return usual(self.wall)

    @property
    def usual_cpu(self) -> float:
        """The median of what this process used."""
        return usual(self.cpu)


def timed(visits: Mapping[str, Visit], *, seconds: float, repeat: int) -> Mapping[str, Took]:
    """Visit all of them in turn, so that a busy machine slows them alike; a few times, however long it takes."""
    for each in visits.values():
        for _ in range(min(WARM, repeat)):
            each()
    took = {name: Took() for name in visits}
    gc.collect()
    deadline = time.perf_counter() + seconds
    for number in range(repeat):
        if number >= FEWEST and time.perf_counter() > deadline:
            break
        for each, times in zip(visits.values(), took.values(), strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            each()
            times.wall.append((time.perf_counter() - wall) * MILLISECONDS)
            times.cpu.append((time.process_time() - cpu) * MILLISECONDS)
    return took


def usual(times: Sequence[float]) -> float:
    """The median."""
    return statistics.median(times)


def _send(app: Flask, environ: WSGIEnvironment) -> tuple[int, bytes]:
    told: list[str] = []
    body = app.wsgi_app(environ, lambda status, _headers, _error=None: told.append(status))  # type: ignore[arg-type]  # nobody writes
    try:
        return int(told[0].split(" ", 1)[0]), b"".join(body)
    finally:
        close = getattr(body, "close", None)
        if close:
            close()


def _token_in(page: str) -> str:
    return page.partition('name="csrf_token"')[2].partition('value="')[2].partition('"')[0]
