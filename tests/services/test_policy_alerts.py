"""What a policy file says is watched, and who is told."""

from datetime import timedelta
from decimal import Decimal

import pytest

from dashboard.domain.alerting import AlertRule, Rule
from dashboard.domain.policy import Auth, Policies
from dashboard.services.policies import check_policies, load_policies, read_policies
from tests.services.test_policy_file import ENVIRONMENT, SAMPLE


@pytest.fixture
def policies() -> Policies:
    return load_policies(SAMPLE, environment=ENVIRONMENT)


def test_a_limit_of_a_type_takes_what_it_leaves_out_from_the_defaults(policies: Policies) -> None:
    standard, charge = policies.defaults.alerts, policies.types["charge"].alerts
    assert standard[Rule.ACCUMULATION] == AlertRule(Decimal(20), timedelta(minutes=10))
    assert standard[Rule.DIVERGENCE] == AlertRule(Decimal("0.02"), timedelta(hours=1), minimum=50)
    assert charge[Rule.ACCUMULATION] == AlertRule(Decimal(5), timedelta(minutes=10))
    assert charge[Rule.AGE] == AlertRule(Decimal(86400), timedelta(minutes=10))
    assert Rule.DIVERGENCE not in charge
    assert policies.types["refund"].alerts == standard


def test_what_is_watched_of_the_installation_is_as_written(policies: Policies) -> None:
    alerts = policies.alerts
    assert {rule: int(limit.above) for rule, limit in alerts.rules.items()} == {
        Rule.DEAD_LETTERS: 0,
        Rule.RECONCILER: 900,
        Rule.RELAY: 900,
        Rule.AUDIT: 129600,
    }
    assert (alerts.anchored_within, alerts.repeat, alerts.clear_for) == (
        timedelta(days=7),
        timedelta(hours=4),
        timedelta(minutes=5),
    )
    assert alerts.mail == ("operations@shop.example",)
    assert alerts.webhook is not None
    assert (alerts.webhook.base_url, alerts.webhook.auth) == (
        "https://alerts.example/api/v2/alerts",
        Auth("bearer", "ALERTS_TOKEN"),
    )


def test_a_rule_that_is_not_written_does_not_exist() -> None:
    found = read_policies(b"[types.a]", environment={})
    assert (dict(found.types["a"].alerts), dict(found.alerts.rules)) == ({}, {})


@pytest.mark.parametrize(
    ("text", "path", "code"),
    [
        ("[types.t.alerts]\nage = true", "types.t.alerts.age", "model_type"),
        ('[types.t.alerts]\nage = { for = "1h" }', "types.t.alerts.age.above", "key_missing"),
        ("[types.t.alerts]\nage = { above = 5 }", "types.t.alerts.age.above", "duration_invalid"),
        ("[types.t.alerts]\naccumulation = { above = -1 }", "types.t.alerts.accumulation.above", "greater_than_equal"),
        ("[types.t.alerts]\naccumulation = { abov = 1, above = 1 }", "types.t.alerts.accumulation.abov", "key_unknown"),
        ("[types.t.alerts]\ndeadline = { above = 1, fro = 1 }", "types.t.alerts.deadline.fro", "key_unknown"),
        ('[types.t.alerts]\ndivergence = { above = "1" }', "types.t.alerts.divergence.above", "share_invalid"),
        (
            '[types.t.alerts]\ndivergence = { above = "0.1", minimum = 0 }',
            "types.t.alerts.divergence.minimum",
            "greater_than_equal",
        ),
        ("[types.t.alerts]\ndead_letters = { above = 1 }", "types.t.alerts.dead_letters", "key_unknown"),
        ("[alerts]\nage = { above = 1 }", "alerts.age", "key_unknown"),
        ('[alerts]\nrepeat = "30s"', "alerts.repeat", "repeat_too_short"),
        ('[alerts]\nmail = { to = ["a@b.example,c@d.example"] }', "alerts.mail.to.0", "email_invalid"),
        ("[alerts]\nmail = { to = [] }", "alerts.mail.to", "addresses_count"),
        ('[alerts]\nmail = { to = ["ops"] }', "alerts.mail.to.0", "email_invalid"),
        ('[alerts]\nwebhook = { url = "ops" }', "alerts.webhook.url", "address_invalid"),
        ("[alerts]\naudit = {}", "alerts.audit.verified_within", "key_missing"),
    ],
)
def test_a_mistake_is_told_by_its_path(text: str, path: str, code: str) -> None:
    problems = check_policies(text.encode(), environment={}).problems
    assert [(problem.field, problem.code.removeprefix("policy_")) for problem in problems] == [(path, code)]


def test_the_address_of_a_variable_is_checked_too() -> None:
    text = b'[alerts]\nwebhook = { url = { env = "ALERTS_URL" } }'
    (problem,) = check_policies(text, environment={"ALERTS_URL": "alerts.example"}).problems
    assert (problem.field, problem.code) == ("alerts.webhook.url", "policy_address_of_variable_invalid")
    (unset,) = check_policies(text, environment={}).problems
    assert (unset.field, unset.code) == ("alerts.webhook.url.env", "policy_variable_unset")
