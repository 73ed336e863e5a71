"""docs/policies.md names every key, and what it shows is accepted."""

import re

import pytest
from pydantic import BaseModel

from dashboard.services import policy_alerts, policy_destinations, policy_file, policy_probes
from dashboard.services.policies import read_policies
from dashboard.services.policy_values import Table
from tests.architecture.tree import ROOT

DOCUMENT = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)
NAMED = set(re.findall(r"[a-z_]+", " ".join([*re.findall(r"`([^`\n]+)`", DOCUMENT), *EXAMPLES])))


def keys() -> set[str]:
    tables = {
        value
        for module in (policy_alerts, policy_destinations, policy_file, policy_probes)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseModel) and value is not Table
    }
    return {field.alias or name for table in tables for name, field in table.model_fields.items()}


def test_every_key_is_explained() -> None:
    assert keys() - NAMED == set()


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_accepted(example: str) -> None:
    assert read_policies(example.encode(), environment={}).hash
