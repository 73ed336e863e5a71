"""What a group of alerts tells its receivers, written with the decision to tell: one notice for each receiver.

A notice that did not leave yet is overtaken by the next one of its group, which says everything that fires by then.
However many groups there are, the statements are as many.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, delete, insert, literal_column, select, update
from sqlalchemy.orm import Session

from dashboard.domain.alerting import AlertState, NoticeKind, NoticeState, Receiver, Told, next_notice
from dashboard.domain.policy import Alerting
from dashboard.models import Alert, AlertGroup, AlertNotice, AlertNoticeAlert
from dashboard.services.alert_letters import MOST_IN_A_REQUEST, Place, Telling, letter, request_body

# As many values as every engine takes in one statement.
IDS_AT_ONCE = 500
_WAITS: ColumnElement[bool] = literal_column("alert_notices.is_open = 1")
# What a receiver never heard is not overtaken by the word that it is over: it is told both, in their order.
_OVERTAKES = {
    NoticeKind.FIRING: (NoticeKind.FIRING, NoticeKind.REPEAT),
    NoticeKind.REPEAT: (NoticeKind.FIRING, NoticeKind.REPEAT),
    NoticeKind.RESOLVED: (NoticeKind.REPEAT,),
}
_To = tuple[str, str, str]
T = TypeVar("T")


def tell(
    session: Session,
    firing: Sequence[Alert],
    *,
    silenced: Collection[int],
    freed: Collection[int],
    alerting: Alerting,
    place: Place,
    now: datetime,
) -> int:
    """Write what each group has to tell of what fires, and say how many notices that made.

    Of `firing` nobody hears of those that are `silenced`; the silence of those that are `freed` ended just now.
    """
    if not list(_receivers(alerting)):
        return 0  # once there is somebody to tell, all of it is news
    told = {group.group_key: group for group in session.scalars(select(AlertGroup))}
    tellings = list(_tellings(firing, told, silenced=silenced, freed=freed, alerting=alerting, now=now))
    if any(telling.group in told for telling in tellings):
        over = _over(session)
        tellings = [replace(telling, over=over[telling.group]) for telling in tellings]
    written = _write(session, tellings, alerting, place) if tellings else 0
    _remember(session, tellings, told)
    session.flush()
    return written


def _tellings(
    firing: Sequence[Alert],
    told: Mapping[str, AlertGroup],
    *,
    silenced: Collection[int],
    freed: Collection[int],
    alerting: Alerting,
    now: datetime,
) -> Iterator[Telling]:
    """What each group has to tell now; one that has nothing to tell because of silences is noted to be muted."""
    by_group: dict[str, list[Alert]] = defaultdict(list)
    for alert in firing:
        by_group[alert.group_key].append(alert)
    for key in sorted({*by_group, *told}):
        group = told.get(key)
        audible = [alert for alert in by_group[key] if alert.id not in silenced]
        known = [alert for alert in by_group[key] if alert.id not in silenced or alert.told_at is not None]
        kind = next_notice(
            Told(group.told_at, muted=group.muted) if group else None,
            known=len(known),
            audible=len(audible),
            freed=any(alert.id in freed for alert in audible),
            now=now,
            repeat=alerting.repeat,
        )
        if kind is not None:
            yield Telling(kind, key, audible, (), now, alerting.repeat)
        elif group is not None and not audible:
            group.muted = True


def _over(session: Session) -> Mapping[str, Sequence[Alert]]:
    """What receivers were told of and is over, and they were not told that yet; by group."""
    ended = (Alert.state == AlertState.RESOLVED.value, Alert.told_at.is_not(None), Alert.end_told_at.is_(None))
    told = select(AlertGroup.group_key)
    found: dict[str, list[Alert]] = defaultdict(list)
    for alert in session.scalars(select(Alert).where(Alert.group_key.in_(told), *ended).order_by(Alert.id)):
        found[alert.group_key].append(alert)
    return found


def _remember(session: Session, tellings: Sequence[Telling], told: Mapping[str, AlertGroup]) -> None:
    for telling in tellings:
        for alert in telling.firing:
            alert.told_at = telling.now
        for alert in telling.over:
            alert.end_told_at = telling.now
        group = told.get(telling.group)
        if group is None:
            session.add(AlertGroup(group_key=telling.group, since=telling.now, told_at=telling.now, muted=False))
        elif telling.kind is not NoticeKind.RESOLVED:
            group.told_at, group.muted = telling.now, False
    ended = [telling.group for telling in tellings if telling.kind is NoticeKind.RESOLVED]
    for some in _some(ended):
        session.execute(delete(AlertGroup).where(AlertGroup.group_key.in_(some)))


def _write(session: Session, tellings: Sequence[Telling], alerting: Alerting, place: Place) -> int:
    overtaken = _overtake(session, tellings)
    notices: list[tuple[AlertNotice, Telling]] = []
    for telling in tellings:
        for receiver, recipient in _receivers(alerting):
            # Who never heard that it began is told so now.
            began = NoticeKind.FIRING in overtaken[telling.group, receiver.value, recipient]
            told = replace(telling, kind=NoticeKind.FIRING) if began else telling
            notices.append((_notice(told, receiver, recipient, place), told))
    session.add_all(notice for notice, _ in notices)
    session.flush()
    links = [
        {"notice_id": notice.id, "alert_id": alert.id}
        for notice, told in notices
        for alert in (*told.firing, *told.over)[:MOST_IN_A_REQUEST]
    ]
    if links:
        session.execute(insert(AlertNoticeAlert), links)
    return len(notices)


def _notice(telling: Telling, receiver: Receiver, recipient: str, place: Place) -> AlertNotice:
    return AlertNotice(
        group_key=telling.group,
        kind=telling.kind.value,
        receiver=receiver.value,
        recipient=recipient,
        content=CONTENTS[receiver](telling, place),
        state=NoticeState.WAITING.value,
        next_attempt_at=telling.now,
        created_at=telling.now,
    )


def _receivers(alerting: Alerting) -> Iterator[tuple[Receiver, str]]:
    if alerting.webhook is not None:
        yield Receiver.WEBHOOK, ""
    for address in alerting.mail:
        yield Receiver.MAIL, address


def _overtake(session: Session, tellings: Sequence[Telling]) -> Mapping[_To, set[NoticeKind]]:
    """Take back what did not leave yet, and give the kinds of it by receiver; what is on its way now is left alone."""
    kinds = {telling.group: _OVERTAKES[telling.kind] for telling in tellings}
    now = tellings[0].now
    notice = AlertNotice
    columns = (notice.id, notice.group_key, notice.receiver, notice.recipient, notice.kind, notice.lease_until)
    waiting = session.execute(select(*columns).where(_WAITS).with_for_update()).all()
    overtaken: dict[_To, set[NoticeKind]] = defaultdict(set)
    numbers: list[int] = []
    for row in waiting:
        is_free = row.lease_until is None or row.lease_until <= now
        if is_free and row.kind in kinds.get(row.group_key, ()):
            overtaken[row.group_key, row.receiver, row.recipient].add(NoticeKind(row.kind))
            numbers.append(row.id)
    for some in _some(numbers):
        taken = update(notice).where(notice.id.in_(some))
        session.execute(taken.values(state=NoticeState.SUPERSEDED.value, lease_token=None, lease_until=None))
    return overtaken


def _some(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(values), IDS_AT_ONCE):
        yield values[first : first + IDS_AT_ONCE]


CONTENTS: Mapping[Receiver, Callable[[Telling, Place], str]] = {
    Receiver.WEBHOOK: request_body,
    Receiver.MAIL: letter,
}
