"""How a policy file says what to watch: limits of a type, limits of the installation, and who is told.

A limit of a type says `above` itself; what else it leaves out comes from the same limit in `[defaults]`, or from here.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, StrictBool, StrictInt, Tag

from dashboard.domain.alerting import AlertRule, Rule
from dashboard.services.policy_destinations import AuthTable, WebAddress
from dashboard.services.policy_values import Duration, Exact, Table, Wait, checked, refuse

STANDARD: Mapping[Rule, AlertRule] = MappingProxyType(
    {
        Rule.ACCUMULATION: AlertRule(Decimal(), timedelta(minutes=10)),
        Rule.AGE: AlertRule(Decimal(), timedelta(minutes=10)),
        Rule.DEADLINE: AlertRule(Decimal(), timedelta(minutes=30)),
        Rule.DIVERGENCE: AlertRule(Decimal(), timedelta(hours=1), minimum=50),
        Rule.DEAD_LETTERS: AlertRule(Decimal(), timedelta(minutes=5)),
    }
)
SHORTEST_REPEAT = timedelta(minutes=1)
MOST_ADDRESSES = 20
# What every server for mail takes, and what cannot be read as several addresses.
_EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,189}")


def _share(number: Decimal) -> Decimal:
    if not 0 <= number < 1:
        raise refuse("share_invalid", value=str(number))
    return number


def _repeat(length: timedelta) -> timedelta:
    if length < SHORTEST_REPEAT:
        raise refuse("repeat_too_short")
    return length


def _addresses(given: tuple[str, ...]) -> tuple[str, ...]:
    if not 1 <= len(given) <= MOST_ADDRESSES:
        raise refuse("addresses_count", maximum=MOST_ADDRESSES)
    return given


def _of_a_limit(given: object) -> str:
    return "off" if given is False else "limit"


Share = Annotated[Exact, AfterValidator(_share)]
Email = Annotated[str, AfterValidator(lambda text: checked(text, _EMAIL, "email_invalid"))]


class CountLimit(Table):
    """So many are too many, once there were that many for so long."""

    above: Annotated[StrictInt, Field(ge=0, le=1_000_000_000)]
    lasting: Duration | None = Field(None, alias="for")


class AgeLimit(Table):
    """So old is too old."""

    above: Wait
    lasting: Duration | None = Field(None, alias="for")


class ShareLimit(Table):
    """Such a share is too large, where it is one of at least `minimum`."""

    above: Share
    minimum: Annotated[StrictInt, Field(ge=1, le=1_000_000_000)] | None = None
    lasting: Duration | None = Field(None, alias="for")


class StillLimit(Table):
    """So long without anything is too long."""

    after: Wait


class AuditLimit(Table):
    """How long ago the audit log may have been verified, and anchored where anchors are asked for."""

    verified_within: Wait
    anchored_within: Wait | None = None


Off = Annotated[Literal[False], Tag("off")]
Counted = Annotated[Annotated[CountLimit, Tag("limit")] | Off, Discriminator(_of_a_limit)]
Aged = Annotated[Annotated[AgeLimit, Tag("limit")] | Off, Discriminator(_of_a_limit)]
Shared = Annotated[Annotated[ShareLimit, Tag("limit")] | Off, Discriminator(_of_a_limit)]


class TypeAlertsTable(Table):
    """What to watch of a type; false switches off what `[defaults]` says."""

    accumulation: Counted | None = None
    age: Aged | None = None
    deadline: Counted | None = None
    divergence: Shared | None = None


class WebhookTable(Table):
    """An Alertmanager, or what takes alerts like one."""

    url: WebAddress
    auth: AuthTable | None = None
    timeout: Wait | None = None
    allow_private: StrictBool = False


class MailTable(Table):
    """Who gets mail."""

    to: Annotated[tuple[Email, ...], AfterValidator(_addresses)]


class AlertsTable(Table):
    """What to watch of the installation, how often to tell, and whom."""

    dead_letters: CountLimit | None = None
    reconciler: StillLimit | None = None
    relay: StillLimit | None = None
    audit: AuditLimit | None = None
    repeat: Annotated[Wait, AfterValidator(_repeat)] | None = None
    clear_for: Duration | None = None
    webhook: WebhookTable | None = None
    mail: MailTable | None = None


def type_rules(base: Mapping[Rule, AlertRule], table: TypeAlertsTable | None) -> Mapping[Rule, AlertRule]:
    """Give the rules of a type: those of the base, less what is switched off, with the limits written here."""
    rules = dict(base)
    for name, limit in table.given().items() if table else ():
        if limit is False:
            rules.pop(Rule(name), None)
        else:
            rules[Rule(name)] = _rule(limit, rules.get(Rule(name), STANDARD[Rule(name)]))
    return MappingProxyType(rules)


def installation_rules(table: AlertsTable) -> Mapping[Rule, AlertRule]:
    """Give the rules of the installation."""
    rules: dict[Rule, AlertRule] = {}
    if table.dead_letters:
        rules[Rule.DEAD_LETTERS] = _rule(table.dead_letters, STANDARD[Rule.DEAD_LETTERS])
    for rule, limit in ((Rule.RECONCILER, table.reconciler), (Rule.RELAY, table.relay)):
        if limit:
            rules[rule] = AlertRule(_seconds(limit.after))
    if table.audit:
        rules[Rule.AUDIT] = AlertRule(_seconds(table.audit.verified_within))
    return MappingProxyType(rules)


def _rule(limit: Any, base: AlertRule) -> AlertRule:
    above = _seconds(limit.above) if isinstance(limit.above, timedelta) else Decimal(limit.above)
    lasting = base.lasting if limit.lasting is None else limit.lasting
    return AlertRule(above, lasting, getattr(limit, "minimum", None) or base.minimum)


def _seconds(length: timedelta) -> Decimal:
    return Decimal(int(length.total_seconds()))
