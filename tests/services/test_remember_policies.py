"""Each version of the policy file is kept once, and the audit log says since when."""

import json
from datetime import datetime, timedelta

from sqlalchemy import select

from dashboard.db import Database, reading, transact
from dashboard.domain.policy import Policies
from dashboard.models import AuditEntry, PolicyVersion
from dashboard.services import audit
from dashboard.services.policies import read_policies, remember

FIRST, SECOND = (read_policies(f'[types.{name}]\ndescription = "Año"'.encode(), environment={}) for name in ("a", "b"))


def keep(database: Database, policies: Policies, now: datetime) -> bool:
    return transact(database, lambda session: remember(session, policies, now=now))


def test_a_version_is_kept_once(database: Database, now: datetime) -> None:
    assert keep(database, FIRST, now)
    assert not keep(database, FIRST, now + timedelta(hours=1))
    with reading(database) as session:
        kept = session.scalars(select(PolicyVersion)).one()
    assert (kept.hash, kept.content, kept.first_seen_at) == (FIRST.hash, FIRST.text, now)


def test_a_change_is_audited_with_what_it_replaces(database: Database, now: datetime) -> None:
    keep(database, FIRST, now)
    keep(database, SECOND, now + timedelta(hours=1))
    with reading(database) as session:
        first, second = session.scalars(select(AuditEntry).order_by(AuditEntry.seq))
        assert audit.verify(session).intact
    assert (first.action, first.subject, first.before) == ("policy_version", FIRST.hash, None)
    assert json.loads(second.before or "") == {"hash": FIRST.hash}
    assert json.loads(second.after or "")["types"] == ["b"]


def test_without_a_file_nothing_is_kept(database: Database, now: datetime) -> None:
    assert not keep(database, Policies(), now)
    with reading(database) as session:
        assert session.scalars(select(PolicyVersion)).all() == []
