"""Addresses of lists are those that `url_for` makes."""

from typing import Any

import pytest
from flask import url_for

from dashboard.db import Database
from dashboard.web.addresses import address_of
from tests.web.lists import app_on

PARAMETERS: list[dict[str, Any]] = [
    {},
    {"type": None},
    {"type": "a b&c=d/e?f#g%+\N{SHIP}'\"", "state": ["pending", "manual_review"], "overdue": 1},
    {"created_from": "2026-11-30T00:00:00Z", "tenant": "", "verdict": ("absent", "correct")},
]


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("root", ["", "/below"])
def test_an_address_is_that_of_url_for(sqlite_database: Database, parameters: dict[str, Any], root: str) -> None:
    app = app_on(sqlite_database)
    with app.test_request_context("/", environ_overrides={"SCRIPT_NAME": root}):
        for endpoint in ("operation_lists.operations", "operation_lists.exceptions", "facts.index"):
            assert address_of(endpoint, **parameters) == url_for(endpoint, **parameters)
