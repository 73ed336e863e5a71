"""A host for tests: it charges orders, and counts how often."""

from collections.abc import Callable, Iterator
from typing import Any

from flask import Flask, Response, abort, request
from flask.testing import FlaskClient

from dashboard.db import Database
from dashboard.idempotency import Idempotency, Profile, RuleBook, Rules, current
from dashboard.idempotency.views import idempotent
from dashboard.idempotency.wsgi import protect

SECRET = b"of a test"
ORDER = {"order": "452", "amount": "318.93"}


class Shop:
    """The host, its door, and what it did: one entry in `effects` for each charge."""

    def __init__(self, database: Database, *, profile: Profile = Profile.DEFAULT, **rules: Any) -> None:
        self.effects: list[Any] = []
        self.allowed = True
        self.door = Idempotency(database, SECRET, RuleBook({}, Rules(**rules)), profile)
        self.behaviour: Callable[[], Any] | None = None

    def charge(self) -> Any:
        """Charge, unless the test says what else happens."""
        if self.behaviour:
            return self.behaviour()
        self.effects.append(request.get_data())
        return {"charge": f"ch_{len(self.effects)}"}, 201, {"Location": "/charges/1", "Set-Cookie": "secret=1"}

    def flask(self, **options: Any) -> FlaskClient:
        """A client of the host whose view is decorated."""
        app = self.bare()
        wrapped = idempotent(
            self.door, "charge_order", tenant=lambda: "shop", authorise=lambda: self.allowed, **options
        )
        app.add_url_rule("/charges/<int:number>", "charge", wrapped(lambda **_address: self.charge()), methods=["POST"])
        return app.test_client()

    def wsgi(self) -> FlaskClient:
        """A client of the host behind the middleware."""
        app = self.bare()
        app.add_url_rule("/charges/<int:number>", "charge", lambda **_address: self.charge(), methods=["POST"])
        app.wsgi_app = protect(  # type: ignore[method-assign, assignment]
            app.wsgi_app,
            self.door,
            operation=lambda environ: "charge_order" if environ["PATH_INFO"].startswith("/charges") else None,
            tenant=lambda _environ: "shop",
            authorise=lambda _environ: self.allowed,
        )
        return app.test_client()

    def bare(self) -> Flask:
        """An application without the view."""
        app = Flask("host")
        app.testing = True
        return app

    def declined(self) -> Any:
        """Ask the card's bank, which says no."""
        current().begin()
        self.effects.append("asked")
        return {"error": "declined"}, 402

    def broken(self) -> Any:
        """Charge, and break before the answer."""
        current().begin()
        self.effects.append("charged")
        raise RuntimeError("broken")

    def refused(self) -> Any:
        """Find the request wrong before anything is done."""
        abort(422)

    def streamed(self, chunks: int, *, size: int = 1000, fault: bool = False) -> Any:
        """Charge, and answer bit by bit."""
        self.effects.append("charged")

        def parts() -> Iterator[bytes]:
            for _ in range(chunks):
                yield b"x" * size
            if fault:
                raise RuntimeError("broken")

        return Response(parts(), mimetype="text/plain")
