"""docs/integrate-http.md shows every call there is, and no code that there is not."""

import re
from pathlib import Path

from dashboard.api.document import document
from dashboard.db import Database
from tests.api.conftest import application
from tests.architecture.tree import files

TEXT = Path("docs/integrate-http.md").read_text(encoding="utf-8")


def test_every_call_is_shown() -> None:
    app = application(Database("sqlite:///never-opened.sqlite3"))
    for path in document(app.extensions["dashboard.api"])["paths"]:
        written = re.sub(r"\\\{\w+\\\}", r"[^/\\s|`]+", re.escape(path.removeprefix("/api/v1")))
        assert re.search(rf"{written}[\s\"`?]", TEXT), path


def test_every_code_is_one_of_ours() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in files("dashboard/**/*.py"))
    rows = re.findall(r"^\| [45]\d\d \|([^|]*)\|", TEXT, re.MULTILINE)
    codes = [code for row in rows for code in re.findall(r"`([a-z_]+)`", row)]
    assert len(codes) > 30
    assert [code for code in codes if code.removeprefix("idempotency_") not in source] == []
