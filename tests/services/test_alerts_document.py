"""docs/alerts.md names every rule, as the policy file and as an Alertmanager know it, and what it shows is accepted."""

import re
from pathlib import Path

import pytest

from dashboard.domain.alert_words import TITLES
from dashboard.domain.alerting import Rule
from dashboard.services.alert_letters import alert_name
from dashboard.services.policies import load_policies
from tests.architecture.tree import ROOT

TEXT = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("rule", Rule)
def test_each_rule_has_its_row(rule: Rule) -> None:
    assert f"| {TITLES[rule]} (`{rule.value}`, `{alert_name(rule)}`) |" in TEXT


def test_what_it_shows_is_accepted(tmp_path: Path) -> None:
    path, found = tmp_path / "policies.toml", set[Rule]()
    for text in SHOWN:
        path.write_text("\n".join(line.removeprefix("   ") for line in text.splitlines()))
        policies = load_policies(path)
        found |= {*policies.alerts.rules, *policies.defaults.alerts}
    assert found == set(Rule) - {Rule.AUDIT_BROKEN}  # it comes with the other of the audit log
    assert policies.alerts.webhook is not None
    assert policies.alerts.mail
