"""The rules and the dashboard of examples/prometheus name only what /metrics has."""

import json
import re
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # plain values; its stubs would be one more thing to keep up

from dashboard.db import Database
from tests.web.test_metrics import HERE, asked

EXAMPLES = Path(__file__).parents[2] / "examples" / "prometheus"
METRIC = re.compile(r"\bdashboard_\w+")
NAMED = re.compile(r"^# TYPE (\S+)", re.MULTILINE)


@pytest.fixture
def names(sqlite_database: Database) -> set[str]:
    return set(NAMED.findall(asked(sqlite_database).get("/metrics", environ_base=HERE).text))


def expressions() -> dict[str, str]:
    """Each rule's and each panel's question, by what it is called."""
    rules = yaml.safe_load((EXAMPLES / "rules.yml").read_text())
    asked_by = {rule["alert"]: rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    panels = json.loads((EXAMPLES / "grafana.json").read_text())["panels"]
    return asked_by | {panel["title"]: " ".join(target["expr"] for target in panel["targets"]) for panel in panels}


def test_every_name_that_is_used_is_answered(names: set[str]) -> None:
    asked_for = expressions()
    assert {title for title, text in asked_for.items() if not METRIC.search(text)} == set()
    assert {name for text in asked_for.values() for name in METRIC.findall(text)} - names == set()
    variables = json.loads((EXAMPLES / "grafana.json").read_text())["templating"]["list"]
    assert {name for each in variables for name in METRIC.findall(each["query"])} <= names


def test_every_name_is_explained_and_no_other(names: set[str]) -> None:
    text = (EXAMPLES.parents[1] / "docs" / "operate.md").read_text()
    section = text[text.index("## Metrics") :].partition("\n## ")[0]
    assert set(re.findall(r"`(dashboard_\w+)`", section)) == names


def test_every_rule_says_what_to_do() -> None:
    rules = yaml.safe_load((EXAMPLES / "rules.yml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            assert {"summary", "action"} <= set(rule["annotations"]), rule["alert"]
