"""What a group of alerts tells its receivers, written with the decision to tell: one notice for each receiver.

A notice that did not leave yet is overtaken by the next one of its group, which says everything that fires by then.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import ColumnElement, delete, literal_column, or_, select, update
from sqlalchemy.orm import Session

from dashboard.domain.alerting import AlertState, NoticeKind, NoticeState, Receiver, Told, next_notice
from dashboard.domain.policy import Alerting
from dashboard.models import Alert, AlertGroup, AlertNotice, AlertNoticeAlert
from dashboard.services.alert_letters import MOST_IN_A_REQUEST, Place, Telling, letter, request_body

_WAITS: ColumnElement[bool] = literal_column("alert_notices.is_open = 1")
# What a receiver never heard is not overtaken by the word that it is over: it is told both, in their order.
_OVERTAKES = {
    NoticeKind.FIRING: (NoticeKind.FIRING, NoticeKind.REPEAT),
    NoticeKind.REPEAT: (NoticeKind.FIRING, NoticeKind.REPEAT),
    NoticeKind.RESOLVED: (NoticeKind.REPEAT,),
}


def tell(
    session: Session,
    firing: Sequence[Alert],
    *,
    silenced: Collection[int],
    alerting: Alerting,
    place: Place,
    now: datetime,
) -> int:
    """Write what each group has to tell of what fires, and say how many notices that made."""
    by_group: dict[str, list[Alert]] = defaultdict(list)
    for alert in firing:
        by_group[alert.group_key].append(alert)
    told = {group.group_key: group for group in session.scalars(select(AlertGroup))}
    written = 0
    for key in sorted({*by_group, *told}):
        group, alerts = told.get(key), by_group[key]
        audible = [alert for alert in alerts if alert.id not in silenced]
        known = [alert for alert in alerts if alert.id not in silenced or alert.told_at is not None]
        kind = next_notice(
            Told(group.told_at, muted=group.muted) if group else None,
            known=len(known),
            audible=len(audible),
            now=now,
            repeat=alerting.repeat,
        )
        if kind is None:
            if group is not None and not audible:
                group.muted = True
            continue
        over = _over(session, key) if group else []
        telling = Telling(kind, key, audible, over, now, alerting.repeat)
        written += _write(session, telling, alerting, place)
        _remember(session, telling, group)
    session.flush()
    return written


def _over(session: Session, key: str) -> Sequence[Alert]:
    """What receivers were told of and is over, and they were not told that yet."""
    ended = (Alert.state == AlertState.RESOLVED.value, Alert.told_at.is_not(None), Alert.end_told_at.is_(None))
    return session.scalars(select(Alert).where(Alert.group_key == key, *ended).order_by(Alert.id)).all()


def _remember(session: Session, telling: Telling, group: AlertGroup | None) -> None:
    for alert in telling.firing:
        alert.told_at = telling.now
    for alert in telling.over:
        alert.end_told_at = telling.now
    if telling.kind is NoticeKind.RESOLVED:
        session.execute(delete(AlertGroup).where(AlertGroup.group_key == telling.group))
    elif group is None:
        session.add(AlertGroup(group_key=telling.group, since=telling.now, told_at=telling.now, muted=False))
    else:
        group.told_at, group.muted = telling.now, False


def _write(session: Session, telling: Telling, alerting: Alerting, place: Place) -> int:
    receivers = list(_receivers(alerting))
    for receiver, recipient in receivers:
        overtaken = _overtake(session, telling, receiver, recipient)
        # Who never heard that it began is told so now.
        kind = NoticeKind.FIRING if NoticeKind.FIRING in overtaken else telling.kind
        told = replace(telling, kind=kind)
        notice = AlertNotice(
            group_key=telling.group,
            kind=kind.value,
            receiver=receiver.value,
            recipient=recipient,
            content=CONTENTS[receiver](told, place),
            state=NoticeState.WAITING.value,
            next_attempt_at=telling.now,
            created_at=telling.now,
        )
        session.add(notice)
        session.flush()
        alerts = (*telling.firing, *telling.over)[:MOST_IN_A_REQUEST]
        session.add_all(AlertNoticeAlert(notice_id=notice.id, alert_id=alert.id) for alert in alerts)
    return len(receivers)


def _receivers(alerting: Alerting) -> Iterator[tuple[Receiver, str]]:
    if alerting.webhook is not None:
        yield Receiver.WEBHOOK, ""
    for address in alerting.mail:
        yield Receiver.MAIL, address


def _overtake(session: Session, telling: Telling, receiver: Receiver, recipient: str) -> frozenset[NoticeKind]:
    """Take back what did not leave yet, and give the kinds of it; what is on its way now is left alone."""
    notice = AlertNotice
    free = or_(notice.lease_until.is_(None), notice.lease_until <= telling.now)
    waiting = session.execute(
        select(notice.id, notice.kind).where(
            _WAITS,
            notice.group_key == telling.group,
            notice.receiver == receiver.value,
            notice.recipient == recipient,
            notice.kind.in_([kind.value for kind in _OVERTAKES[telling.kind]]),
        )
    ).all()
    overtaken: set[NoticeKind] = set()
    for row in waiting:
        taking = update(notice).where(notice.id == row.id, _WAITS, free)
        taken = session.connection().execute(taking.values(state=NoticeState.SUPERSEDED.value, lease_token=None))
        if taken.rowcount:
            overtaken.add(NoticeKind(row.kind))
    return frozenset(overtaken)


CONTENTS: Mapping[Receiver, Callable[[Telling, Place], str]] = {
    Receiver.WEBHOOK: request_body,
    Receiver.MAIL: letter,
}
