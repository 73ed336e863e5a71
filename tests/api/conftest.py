"""The API on a database of the test's own, and programs that call it with a token."""

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from pydantic import SecretStr

from dashboard.app import create_app
from dashboard.config import Settings
from dashboard.db import Database, clock, transact
from dashboard.domain.permissions import TOKEN_PERMISSIONS, Actor, Permission
from dashboard.domain.states import ActorKind
from dashboard.services import tokens

SYSTEM = Actor(ActorKind.SYSTEM, "tests")
TENANT = "tienda-es"
_numbers = itertools.count(1)


class Program:
    """A program with a token; each change gets a key of its own unless one is given."""

    def __init__(self, client: FlaskClient, secret: str) -> None:
        self.client = client
        self.secret = secret

    def get(self, path: str, **more: Any) -> Any:
        return self.client.get(f"/api/v1{path}", headers=self.headers(), **more)

    def post(self, path: str, body: Any = None, *, key: str | None = "new", **more: Any) -> Any:
        named = {} if key is None else {"Idempotency-Key": f"k-{next(_numbers)}" if key == "new" else key}
        return self.client.post(f"/api/v1{path}", json=body, headers={**self.headers(), **named}, **more)

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}


Enter = Callable[..., Program]


def application(database: Database) -> Flask:
    settings = Settings(secret_key=SecretStr("a secret of the tests"), cookie_secure=False)
    return create_app(settings, database=database)


def make_token(
    database: Database, *permissions: Permission, tenant: str = TENANT, types: tuple[str, ...] = (), name: str = ""
) -> str:
    return transact(
        database,
        lambda session: tokens.create(
            session,
            actor=SYSTEM,
            name=name or f"t-{next(_numbers)}",
            tenant=tenant,
            types=types,
            permissions=permissions or TOKEN_PERMISSIONS,
            expires_in=timedelta(days=1),
            now=clock(session),
        ),
    )[1]


@pytest.fixture
def program(database: Database) -> Enter:
    """Give a program with a new token: `program(Permission.BROWSE, tenant="loja-br")`; all permissions without any."""
    app = application(database)

    def enter(*permissions: Permission, **more: Any) -> Program:
        return Program(app.test_client(), make_token(database, *permissions, **more))

    return enter


@pytest.fixture
def sqlite_program(sqlite_database: Database) -> Enter:
    """The same, on SQLite alone: for what does not touch how data is kept."""
    app = application(sqlite_database)

    def enter(*permissions: Permission, **more: Any) -> Program:
        return Program(app.test_client(), make_token(sqlite_database, *permissions, **more))

    return enter


def registration(operation_id: str = "order-452", **values: Any) -> dict[str, Any]:
    """A whole registration."""
    return {
        "operation_id": operation_id,
        "type": "charge_order",
        "entity_type": "order",
        "entity_id": "452",
        "destination": "payments",
        "expected": {"order": "452", "amount": "318.93"},
        "amount": "318.93",
        "currency": "EUR",
        **values,
    }
