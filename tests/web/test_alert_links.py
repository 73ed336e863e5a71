"""What an alert links to is a screen that takes its filter."""

from decimal import Decimal

import pytest

from dashboard.db import Database
from dashboard.domain.alert_words import rows_path
from dashboard.domain.alerting import INSTALLATION, TYPE_RULES, Breach, Rule
from dashboard.domain.permissions import Grant, Role
from tests.web.lists import browser_on, now


@pytest.mark.parametrize("rule", Rule)
def test_the_rows_of_a_rule_are_listed(sqlite_database: Database, rule: Rule) -> None:
    subject = "charge order" if rule in TYPE_RULES else INSTALLATION
    breach = Breach(rule, subject, Decimal(3), Decimal(86400), about="hook")
    answer = browser_on(sqlite_database, Grant(Role.MANAGER)).get(rows_path(breach, now=now()))
    assert answer.status_code == 200
