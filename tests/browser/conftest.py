"""Real Chromium before the real application, served on loopback with the demo's shop."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from waitress.server import create_server

from dashboard.app import create_app
from dashboard.cli.demo import PASSWORD, prepare
from dashboard.cli.demo_shop import POLICIES
from dashboard.config import Settings
from dashboard.db import Database
from tests.servers import missing

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PATIENCE_MS = 15_000

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One Chromium for all journeys of this process."""
    program = shutil.which("chromium")
    if program is None:
        missing("Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's shop in a file to copy from."""
    path = tmp_path_factory.mktemp("shop") / "shop.sqlite3"
    database = Database(f"sqlite:///{path}")
    prepare(database)
    database.dispose()
    return path


@pytest.fixture
def database(shop: Path, tmp_path: Path) -> Iterator[Database]:
    """A shop of the journey's own."""
    path = tmp_path / "shop.sqlite3"
    shutil.copy(shop, path)
    database = Database(f"sqlite:///{path}")
    yield database
    database.dispose()


@pytest.fixture
def settings() -> Settings:
    """How the application is set up."""
    return Settings(demo=True, cookie_secure=False, environment="demo", policies=POLICIES)


@pytest.fixture
def site(database: Database, settings: Settings) -> Iterator[str]:
    """The address of the application."""
    server = create_server(create_app(settings, database=database), host="127.0.0.1", port=0, threads=4)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.effective_port}"
    server.close()
    thread.join(10)


@pytest.fixture
def visit(chromium: Browser, site: str) -> Iterator[Visit]:
    """Open the application as a person: `visit("support", width=390, dark=True, script=False)` gives a page."""
    contexts: list[BrowserContext] = []

    def sign_in(role: str, *, width: int = 1280, dark: bool = False, script: bool = True) -> Page:
        context = chromium.new_context(
            base_url=site,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        _complain(page)
        page.goto("/login")
        page.get_by_label("E-mail").fill(f"{role}@example.com")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        return page

    yield sign_in
    for context in contexts:
        context.close()


def _complain(page: Page) -> None:
    """A script error or a broken content security policy fails the journey."""

    def stop(what: object) -> None:
        raise AssertionError(f"the page complained: {what}")

    page.on("pageerror", stop)
    page.on("console", lambda message: stop(message.text) if "Content Security Policy" in message.text else None)
