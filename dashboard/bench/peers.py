"""What a team would use instead: Flask-Admin and SQLAdmin on the same table, first page and a filtered page of fifty.

Neither is a dependency. This file is run by any Python that has them (`requirements/bench-peers.txt`) and knows
nothing of ours:
`python peers.py TYPE < URL` prints a JSON array; one that is missing is named in it.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.metadata import version
from types import new_class
from typing import Any

from sqlalchemy import Engine, MetaData, create_engine
from sqlalchemy.ext.automap import automap_base
from sqlalchemy.orm import scoped_session, sessionmaker

COLUMNS = (
    *("operation_id", "tenant", "type", "entity_type", "entity_id", "destination", "state", "attempts"),
    *("next_attempt_at", "deadline_at", "amount", "currency", "cause", "verdict", "created_at", "confirmed_at"),
)
FIRST, FILTERED = "operations, first page", "operations, common type"
PAGE_SIZE = 50
REPEAT = 7
SECONDS = 30.0
OK = 200

Visit = Callable[[], int]


def measure(visit: Visit) -> float:
    """Milliseconds, median of some warm visits."""
    if visit() != OK:
        raise RuntimeError("the page failed")
    times: list[float] = []
    deadline = time.perf_counter() + SECONDS
    while len(times) < REPEAT and time.perf_counter() < deadline:
        began = time.perf_counter()
        visit()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def flask_admin(engine: Engine, operation: Any, only: str) -> Iterator[tuple[str, Visit]]:
    """A view of the table with our columns, newest first, and a filter by type."""
    admin, views = import_module("flask_admin"), import_module("flask_admin.contrib.sqla")
    app = import_module("flask").Flask("peer")
    app.secret_key = "of a benchmark"  # noqa: S105 - of a process that ends soon
    sessions = scoped_session(sessionmaker(engine))
    view = new_class(
        "Operations", (views.ModelView,), exec_body=_looks(column_filters=("type",), named_filter_urls=True)
    )
    admin.Admin(app).add_view(view(operation, sessions, endpoint="operations"))
    app.teardown_appcontext(lambda _error: sessions.remove())
    for page, asked in ((FIRST, ""), (FILTERED, f"flt0_type_equals={only}")):
        yield page, partial(_wsgi, app, "/admin/operations/", asked)


def sql_admin(engine: Engine, operation: Any, only: str) -> Iterator[tuple[str, Visit]]:
    """A view of the table with our columns, newest first, and a filter by type."""
    admin, filters = import_module("sqladmin"), import_module("sqladmin.filters")
    app = import_module("starlette.applications").Starlette()
    looks = _looks(identity="operations", column_filters=(filters.OperationColumnFilter(operation.type),))
    admin.Admin(app, engine).add_view(new_class("Operations", (admin.ModelView,), {"model": operation}, looks))
    for page, asked in ((FIRST, ""), (FILTERED, f"type={only}&type_op=equals")):
        yield page, partial(_asgi, app, "/admin/operations/list", asked)


def _looks(**more: Any) -> Callable[[dict[str, Any]], None]:
    """What both views have, and what is said otherwise in each."""
    same = {"column_list": COLUMNS, "column_default_sort": ("created_at", True), "page_size": PAGE_SIZE}
    return lambda body: body.update(same, **more)


PEERS = {"Flask-Admin": flask_admin, "SQLAdmin": sql_admin}


def main(url: str, only: str) -> None:
    """Measure what is there and print it."""
    engine = create_engine(url)
    metadata = MetaData()
    metadata.reflect(engine, only=["operations"])
    base = automap_base(metadata=metadata)
    base.prepare()
    found: list[dict[str, Any]] = []
    for name, pages in PEERS.items():
        try:
            told = version(name)
            for page, visit in pages(engine, base.classes.operations, only):
                found.append({"name": name, "version": told, "page": page, "ms": measure(visit)})
        except ImportError as error:
            found.append({"name": name, "missing": str(error)})
    print(json.dumps(found))


def _wsgi(app: Any, path: str, asked: str) -> int:
    environ = import_module("werkzeug.test").EnvironBuilder(path=path, query_string=asked).get_environ()
    told: list[str] = []
    body = app(environ, lambda status, *_: told.append(status))
    b"".join(body)
    body.close()
    return int(told[0][:3])


def _asgi(app: Any, path: str, asked: str) -> int:
    return asyncio.run(_answer(app, path, asked))


async def _answer(app: Any, path: str, asked: str) -> int:
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": asked.encode(),
             "headers": [(b"host", b"localhost")], "scheme": "http", "server": ("localhost", 80), "root_path": "",
             "http_version": "1.1", "client": ("127.0.0.1", 1), "asgi": {"version": "3.0"}}  # fmt: skip
    told: list[int] = []

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    await app(scope, receive, send)
    return told[0]


if __name__ == "__main__":
    main(sys.stdin.read().strip(), sys.argv[1])
