"""The application on a database of the test's own, and people who sign in to it."""

from collections.abc import Callable
from itertools import count

import pytest
from flask import Flask
from jinja2 import FileSystemBytecodeCache
from pydantic import SecretStr

from dashboard.app import create_app
from dashboard.config import Settings
from dashboard.db import Database
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.services import users
from tests.web.client import PageClient

PASSWORD = "correct horse battery"
SYSTEM = Actor(ActorKind.SYSTEM, "tests@shop.example")

SignIn = Callable[..., PageClient]
AddUser = Callable[..., str]


@pytest.fixture
def settings() -> Settings:
    return Settings(secret_key=SecretStr("a secret of the tests"), cookie_secure=False)


@pytest.fixture(scope="session")
def compiled_templates(tmp_path_factory: pytest.TempPathFactory) -> FileSystemBytecodeCache:
    """Where the templates are kept once they are compiled: each test makes an application of its own."""
    return FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))


@pytest.fixture
def app(settings: Settings, sqlite_database: Database, compiled_templates: FileSystemBytecodeCache) -> Flask:
    app = create_app(settings, database=sqlite_database)
    app.jinja_env.bytecode_cache = compiled_templates
    app.test_client_class = PageClient
    return app


@pytest.fixture
def client(app: Flask) -> PageClient:
    """A browser in which nobody has signed in."""
    return new_client(app)


@pytest.fixture
def add_user(sqlite_database: Database) -> AddUser:
    """Add a person with a role, or with the grants given, and give their e-mail."""
    numbers = count(1)

    def add(role: Role | str | None = None, *grants: Grant) -> str:
        given = (Grant(Role(role)), *grants) if role else grants
        email = f"{given[0].role if given else 'nobody'}-{next(numbers)}@shop.example"
        users.add_user(sqlite_database, actor=SYSTEM, email=email, password=PASSWORD, grants=given)
        return email

    return add


@pytest.fixture
def sign_in(app: Flask, add_user: AddUser) -> SignIn:
    """Sign a new person in, in a browser of their own: `sign_in("operator")` or `sign_in(None, Grant(...), ...)`."""

    def enter(role: Role | str | None = None, *grants: Grant) -> PageClient:
        browser = new_client(app)
        answer = browser.send("/login", email=add_user(role, *grants), password=PASSWORD)
        assert answer.status_code == 303
        return browser

    return enter


def new_client(app: Flask) -> PageClient:
    client = app.test_client()
    assert isinstance(client, PageClient)
    return client
