"""What is over goes after a while; what is not over stays, however old."""

from datetime import timedelta

from dashboard.db import Database, clock, reading
from dashboard.models import Alert, AlertNotice, AlertNoticeAlert, AlertSilence
from dashboard.services import alert_history
from tests import factories
from tests.services.watching import Watch, watching

DAY = timedelta(days=1)


def alert(number: int, **values: object) -> Alert:
    given = {"group_key": "type:charge", "destination": "", "figure": "2", "threshold": "1", "cause": "", "about": ""}
    return Alert(**{**given, "id": number, "rule": "age", "subject": f"type_{number}", **values})


def notice(number: int, **values: object) -> AlertNotice:
    given = {"group_key": "type:charge", "kind": "repeat", "receiver": "webhook", "recipient": "", "content": "[]"}
    return AlertNotice(**{**given, "id": number, "state": "sent", **values})


def history(database: Database) -> Watch:
    """An alert that ended long ago, one that ended lately, and one that fires since forever."""
    watch = watching(database)
    with reading(database) as session:
        now = clock(session)
    old, young = now - 91 * DAY, now - 89 * DAY
    watch.add(
        alert(1, state="resolved", since=old, resolved_at=old),
        alert(2, state="resolved", since=old, resolved_at=young),
        alert(3, state="firing", since=old),
        notice(1, created_at=old, next_attempt_at=old),
        notice(2, created_at=young, next_attempt_at=young),
    )
    watch.add(*(AlertNoticeAlert(notice_id=one, alert_id=two) for one, two in ((1, 1), (1, 3), (2, 1), (2, 2), (2, 3))))
    for number, at in ((1, old), (2, young)):
        silenced = {"rule": "", "subject": "", "reason": factories.NOTE, "created_by": "ana@example.com"}
        watch.add(AlertSilence(id=number, **silenced, idempotency_key=str(number), created_at=old, ends_at=at))
    return watch


def test_what_ended_long_ago_goes_and_the_rest_stays(database: Database) -> None:
    watch = history(database)
    assert alert_history.purge(database) == 3
    kept = [[row.id for row in watch.rows(model)] for model in (Alert, AlertNotice, AlertSilence)]
    assert kept == [[2, 3], [2], [2]]
    with reading(database) as session:
        links = session.query(AlertNoticeAlert.notice_id, AlertNoticeAlert.alert_id).order_by(AlertNoticeAlert.alert_id)
        assert [tuple(link) for link in links] == [(2, 2), (2, 3)]
    assert alert_history.purge(database) == 0


def test_it_goes_in_batches(sqlite_database: Database) -> None:
    history(sqlite_database)
    assert alert_history.purge(sqlite_database, at_once=1) == 3
