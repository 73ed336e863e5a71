"""Looking at the figures that alerts are about: each by itself, so that one that cannot be read stops no other."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from dashboard.db import Database, reading
from dashboard.domain import alert_limits
from dashboard.domain.alerting import INSTALLATION, Breach, Rule
from dashboard.domain.policy import Policies
from dashboard.domain.text import TextError, check_text
from dashboard.queries import alert_figures
from dashboard.queries.due import Selection

log = logging.getLogger("dashboard.alerts")

POLLED = "table"
UNSTORABLE = "types with names that cannot be stored"


@dataclass(frozen=True)
class Looked:
    """What is breached at one moment; the rules whose figures could not be read say nothing, and `unreadable` why."""

    now: datetime
    breaches: tuple[Breach, ...]
    unknown: frozenset[Rule]
    unreadable: tuple[str, ...]


@dataclass(frozen=True)
class _Reader:
    """Which rules a figure is for, and how it is read and compared."""

    name: str
    rules: tuple[Rule, ...]
    read: Callable[[Session, Policies, datetime], Iterable[Breach]]


def look(database: Database, *, policies: Policies, now: datetime) -> Looked:
    """Read the figures that any rule is about, each in a session of its own; the number of queries is fixed."""
    breaches: list[Breach] = []
    failed: list[_Reader] = []
    for reader in READERS:
        if policies.watched.isdisjoint(reader.rules):
            continue
        try:
            with reading(database) as session:
                breaches += reader.read(session, policies, now)
        except (OperationalError, InterfaceError):
            # The database itself: nothing can be said about anything.
            raise
        except Exception:
            log.exception("the figures of %s cannot be read", reader.name)
            failed.append(reader)
    unknown = frozenset(rule for reader in failed for rule in reader.rules)
    storable = tuple(breach for breach in breaches if _is_storable(breach.subject))
    unreadable = [reader.name for reader in failed]
    if len(storable) < len(breaches):
        unreadable.append(UNSTORABLE)
    return Looked(now, storable, unknown, tuple(unreadable))


def _is_storable(name: str) -> bool:
    """Whether no engine refuses it: a host that writes rows by itself may have written anything."""
    try:
        return bool(check_text(name)) or name == INSTALLATION
    except TextError:
        return False


def _open(session: Session, policies: Policies, now: datetime) -> Iterable[Breach]:
    figures = alert_figures.open_figures(session, now=now)
    return list(alert_limits.open_breaches(policies, figures, now=now))


def _verdicts(session: Session, policies: Policies, now: datetime) -> Iterable[Breach]:
    return list(alert_limits.divergence_breaches(policies, alert_figures.verdicts(session, now=now)))


def _dead_letters(session: Session, policies: Policies, _now: datetime) -> Iterable[Breach]:
    return list(alert_limits.dead_letter_breaches(policies, alert_figures.dead_letters(session)))


def _looks(session: Session, policies: Policies, now: datetime) -> Iterable[Breach]:
    limit = policies.alerts.rules.get(Rule.RECONCILER)
    if limit is None:
        return ()
    # What has been due all that time, and not what fell due a moment ago.
    then = Selection(now - timedelta(seconds=int(limit.above)), policies)
    return list(alert_limits.reconciler_breaches(policies, alert_figures.looks(session, then), now=now))


def _publishing(session: Session, policies: Policies, now: datetime) -> Iterable[Breach]:
    polled = [name for name, sink in policies.sinks.items() if sink.kind == POLLED]
    figures = alert_figures.publishing(session, served=policies.sinks, polled=polled, now=now)
    return list(alert_limits.relay_breaches(policies, figures, now=now))


def _audit(session: Session, policies: Policies, now: datetime) -> Iterable[Breach]:
    return list(alert_limits.audit_breaches(policies, alert_figures.proof(session), now=now))


READERS = (
    _Reader("open operations", (Rule.ACCUMULATION, Rule.AGE, Rule.DEADLINE), _open),
    _Reader("verdicts", (Rule.DIVERGENCE,), _verdicts),
    _Reader("dead letters", (Rule.DEAD_LETTERS,), _dead_letters),
    _Reader("looks", (Rule.RECONCILER,), _looks),
    _Reader("publishing", (Rule.RELAY,), _publishing),
    _Reader("audit log", (Rule.AUDIT, Rule.AUDIT_BROKEN), _audit),
)
