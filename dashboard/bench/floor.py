"""The floor of a page: the same statements by hand, and the least page that shows what they found.

A bare Flask application answers. It checks the same signed cookie for a session and runs, on one open connection of the
driver, without SQLAlchemy and without transactions, every statement that the product's page sent, with the same
parameters (that of the session is the first of them). It renders every row and column of every answer into plain
tables, escaped, by one Jinja template without macros, translations or a frame.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flask import Flask, abort, render_template_string, session

from dashboard.bench.visits import Statement
from dashboard.db import Database

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title></head><body><main><h1>{{ title }}</h1>
{%- for rows in answers %}
<table>
{%- for row in rows %}
<tr>{% for value in row %}<td>{{ value }}</td>{% endfor %}</tr>
{%- endfor %}
</table>
{%- endfor %}
</main></body></html>
"""


class Floor:
    """The bare application; each page is added with the statements that it stands for."""

    def __init__(self, like: Flask, connection: Any) -> None:
        self.app = Flask("floor", static_folder=None)
        self.app.secret_key = like.secret_key
        self.app.config.update(SESSION_COOKIE_NAME=like.config["SESSION_COOKIE_NAME"])
        self._connection = connection
        self._pages: dict[str, tuple[str, Sequence[Statement]]] = {}
        self.app.add_url_rule("/<name>", "show", self._show)

    def add(self, title: str, statements: Sequence[Statement]) -> str:
        """Keep a page and give its address."""
        name = str(len(self._pages))
        self._pages[name] = (title, statements)
        return f"/{name}"

    def _show(self, name: str) -> str:
        if "sid" not in session:
            abort(401)
        title, statements = self._pages[name]
        answers = []
        cursor = self._connection.cursor()
        try:
            for statement in statements:
                cursor.execute(statement.sql, statement.parameters)
                answers.append(cursor.fetchall())
        finally:
            cursor.close()
        return render_template_string(PAGE, title=title, answers=answers)


@contextmanager
def floor_of(like: Flask, database: Database) -> Iterator[Floor]:
    """The floor beside an application, on a connection of its own."""
    with database.pages.connect() as connection:
        yield Floor(like, connection.connection.driver_connection)
