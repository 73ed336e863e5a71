"""The policy file as it is written: its tables and keys, each checked by itself.

    read_file(content) -> PolicyFile            one table of TOML, every key known and well-formed
    build(file, ...)   -> domain.policy.Policies   defaults applied, values frozen

What one key says about another is checked in `policy_rules`.
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt

from dashboard.domain.policy import Mode, Response
from dashboard.domain.verdicts import Verdict
from dashboard.services.policy_alerts import AlertsTable, TypeAlertsTable
from dashboard.services.policy_destinations import AnySink, DestinationTable
from dashboard.services.policy_probes import AnyProbe, Comparisons
from dashboard.services.policy_values import Amount, Count, Currency, Duration, Factor, Name, Table, Wait

Sentence = Annotated[str, Field(max_length=1000)]


class WindowTable(Table):
    """When to look at the destination."""

    after: Wait | None = None
    cap: Wait | None = None


class RetryTable(Table):
    """How often to try, and how long to wait between."""

    max_attempts: Annotated[StrictInt, Field(ge=1, le=1000)] | None = None
    first: Wait | None = None
    factor: Factor = 2.0
    cap: Wait | None = None


class ApprovalsTable(Table):
    """How many second people each action needs, for how long a proposal stands, and when one must be a manager."""

    requeue: Count | None = None
    compensate: Count | None = None
    close: Count | None = None
    confirm: Count | None = None
    reopen: Count | None = None
    expires: Wait | None = None
    manager_above: dict[Currency, Amount] | None = None
    notify: Name | None = None


class RulesTable(Table):
    """What may stand in `[defaults]` and in every type."""

    mode: Mode | None = None
    window: WindowTable | None = None
    deadline: Wait | None = None
    visibility_lag: Duration | None = None
    freshness: Wait | None = None
    retry: RetryTable | None = None
    on: dict[Verdict, Response] | None = None
    approvals: ApprovalsTable | None = None
    retention: Wait | None = None
    redact: tuple[Name, ...] | None = None
    mask: tuple[Name, ...] | None = None
    alerts: TypeAlertsTable | None = None


class TypeTable(RulesTable):
    """The rules of one operation type."""

    description: Sentence = ""
    expected_effect: Sentence = ""
    destination: Name | None = None
    source_of_truth: Name = "destination"
    financial: StrictBool = False
    probe: AnyProbe | None = None
    compare: Comparisons = ()
    compensation: Name | None = None
    partial: StrictBool = False


class PolicyFile(Table):
    """The whole file."""

    version: Literal[1] = 1
    destinations: dict[Name, DestinationTable] = Field(default_factory=dict)
    sinks: dict[Name, AnySink] = Field(default_factory=dict)
    defaults: RulesTable = RulesTable()
    types: dict[Name, TypeTable] = Field(default_factory=dict)
    alerts: AlertsTable = AlertsTable()
