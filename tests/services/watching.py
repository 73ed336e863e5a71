"""Alerts as tests drive them: a policy, a clock that goes on when told, and what was written down."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from dashboard.adapters.mail import MailServer
from dashboard.db import Database, reading, transact
from dashboard.domain.policy import Destination, Policies
from dashboard.models import Alert, AlertNotice, Operation, Record
from dashboard.services import alert_sending, alerts
from dashboard.services.alert_letters import Place
from dashboard.services.policies import read_policies
from tests import factories

PLACE = Place("test", "https://ops.shop.example")
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ACCUMULATION = "[types.charge_order.alerts]\naccumulation = { above = 1, for = '10m' }\n"


@dataclass
class Watch:
    """The rules of a policy over a database, at a moment of the tests' own clock."""

    database: Database
    policies: Policies
    now: datetime = factories.NOW
    server: MailServer | None = None

    def look(self, after: timedelta = timedelta()) -> alerts.Evaluated | None:
        """Let time pass, and look."""
        self.now += after
        return alerts.evaluate(self.database, policies=self.policies, now=self.now, place=PLACE, at_least=timedelta())

    def send(self, after: timedelta = timedelta(), **ways: Any) -> int:
        """Let time pass, and send what is due."""
        self.now += after
        given = alert_sending.Ways(self.policies.alerts, self.server, **ways)
        return alert_sending.send_due(self.database, given, now=self.now)

    def tell(self, *, webhook: Destination | None = None, mail: Sequence[str] = ()) -> None:
        """Name receivers."""
        alerting = replace(self.policies.alerts, webhook=webhook, mail=tuple(mail))
        self.policies = replace(self.policies, alerts=alerting)

    def change(self, text: str) -> None:
        """Write the policy file anew, with the same receivers."""
        receivers = self.policies.alerts
        self.policies = policies(text)
        self.tell(webhook=receivers.webhook, mail=receivers.mail)

    def add(self, *rows: Any) -> None:
        """Add rows."""

        def unit(session: Session) -> None:
            session.add_all(rows)

        transact(self.database, unit)

    def operations(self, count: int = 1, **values: Any) -> None:
        """Add operations that wait for a person, unless told otherwise."""

        def unit(session: Session) -> None:
            first = factories.operation(session, **values)
            columns = {name: getattr(first, name) for name in _written()}
            others = [{**columns, "operation_id": f"{first.operation_id}-{number}"} for number in range(1, count)]
            if others:
                session.execute(insert(Operation), others)

        transact(self.database, unit)

    def settle(self) -> None:
        """All operations are done."""

        def unit(session: Session) -> None:
            done = {"state": "confirmed", "confirmed_at": self.now, "settled_since": self.now}
            session.execute(
                Operation.__table__.update().values(**{k: v for k, v in done.items() if k in _written()})  # type: ignore[attr-defined]
            )

        transact(self.database, unit)

    def states(self) -> list[tuple[str, str, str]]:
        """Rule, subject and state of each alert there is or was, the oldest first."""
        return [(alert.rule, alert.subject, alert.state) for alert in self.rows(Alert)]

    def notices(self) -> list[tuple[str, str, str]]:
        """Group, kind and state of each notice, the oldest first."""
        return [(notice.group_key, notice.kind, notice.state) for notice in self.rows(AlertNotice)]

    def rows(self, model: type[Any]) -> Sequence[Any]:
        """All rows of a table."""
        with reading(self.database) as session:
            return session.scalars(select(model).order_by(model.id)).all()


def watching(database: Database, text: str = ACCUMULATION) -> Watch:
    """Rules from the text of a policy file."""
    return Watch(database, policies(text))


def policies(text: str) -> Policies:
    """The policies of a text."""
    return read_policies(text.encode(), environment={})


def _written() -> list[str]:
    table = Record.metadata.tables["operations"]
    return [column.name for column in table.columns if column.computed is None and column.name != "id"]
