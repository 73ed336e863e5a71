"""Addresses are those that Flask makes, each of them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask, url_for
from werkzeug.routing import BuildError

from dashboard.db import Database
from tests.web.lists import app_on

HOSTILE = "a b&c=d/e?f#g%+\N{SHIP}'\";"
PARAMETERS: list[dict[str, Any]] = [
    {},
    {"kind": None},
    {"kind": HOSTILE, "state": ["pending", "manual_review"], "overdue": 1, "days": 7},
    {"created_from": "2026-11-30T00:00:00Z", "owner": "", "verdict": ("absent", "correct"), "none": []},
    {"_anchor": "note", "kind": HOSTILE},
    {"_external": True, "kind": HOSTILE},
]


def endpoints(app: Flask) -> Iterator[tuple[str, dict[str, Any]]]:
    for rule in app.url_map.iter_rules():
        numbers = re.findall(r"<int[^<]*:(\w+)>", rule.rule)
        yield rule.endpoint, {name: 452 if name in numbers else HOSTILE for name in rule.arguments}


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("root", ["", "/below"])
def test_an_address_is_that_of_flask(sqlite_database: Database, parameters: dict[str, Any], root: str) -> None:
    app = app_on(sqlite_database)
    with app.test_request_context("/", environ_overrides={"SCRIPT_NAME": root}):
        for endpoint, parts in endpoints(app):
            assert url_for(endpoint, **parts, **parameters) == Flask.url_for(app, endpoint, **parts, **parameters)


@pytest.mark.parametrize("endpoint", ["operations.show", "operations.nowhere"])
def test_a_part_that_is_missing_is_an_error(sqlite_database: Database, endpoint: str) -> None:
    app = app_on(sqlite_database)
    with app.test_request_context("/"), pytest.raises(BuildError):
        url_for(endpoint, operation_id=None)


def test_an_address_beside_the_page_is_found(sqlite_database: Database) -> None:
    app = app_on(sqlite_database)
    with app.test_request_context("/operations/op-1"):
        assert url_for(".show", operation_id="op-2") == "/operations/op-2"
