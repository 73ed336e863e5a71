"""What an action will do, one exact sentence for each effect, before anybody decides."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dashboard.domain.actions import ActionName
from dashboard.domain.states import State
from dashboard.domain.text import visible
from dashboard.models import Operation
from dashboard.services.actions import Preview
from dashboard.services.policies import Policies
from dashboard.web.formatting import clock_time, duration, money
from dashboard.web.language import gettext
from dashboard.web.naming import entity_name, type_name


@dataclass(frozen=True)
class Effect:
    """One sentence, and the exact key or id it speaks of."""

    text: str
    token: str = ""


def effects(preview: Preview, *, policies: Policies) -> list[Effect]:
    """Give what happens besides the change of state, in the order in which it happens."""
    found = list(_BY_ACTION[preview.action](preview, policies))
    found.append(Effect(gettext("Your name, reason and note are added to its history and to the audit log.")))
    return found


def warning(preview: Preview) -> str:
    """Give what to make sure of before doing it."""
    where = visible(preview.operation.destination)
    sentences = {
        ActionName.REQUEUE: gettext(
            "It will be sent to %(destination)s again. Make sure that the effect does not exist there.",
            destination=where,
        ),
        ActionName.COMPENSATE: gettext(
            "A new operation will undo its effect. Make sure that the effect exists at %(destination)s.",
            destination=where,
        ),
        ActionName.CLOSE: gettext(
            "It ends without being done. If the effect exists at %(destination)s, it stays there.", destination=where
        ),
        ActionName.CONFIRM: gettext(
            "It counts as done, on your word. Make sure that you have seen the effect at %(destination)s.",
            destination=where,
        ),
        ActionName.ESCALATE: gettext("It goes to the people who decide, and waits for them."),
        ActionName.REOPEN: gettext("It goes back to the people who decide, although it had ended."),
    }
    return str(sentences[preview.action])


def _requeue(preview: Preview, policies: Policies) -> Iterator[Effect]:
    row = preview.operation
    yield Effect(
        gettext(
            "%(what)s is sent to %(destination)s once more, as attempt %(number)s, as soon as a worker is free.",
            what=_what(row),
            destination=visible(row.destination),
            number=row.attempts + 1,
        )
    )
    yield _key(row, honoured=policies.honours_key(row.destination))
    yield Effect(gettext("Its deadline stays %(at)s.", at=clock_time(row.deadline_at)))
    yield _open_until_verified()


def _key(row: Operation, *, honoured: bool | None) -> Effect:
    names = {"destination": visible(row.destination)}
    if row.idempotency_key is None:
        return Effect(
            gettext("The request carries no idempotency key: %(destination)s takes it for a new one.", **names)
        )
    if honoured:
        text = gettext("%(destination)s gets the same key again and makes no second effect of it:", **names)
    elif honoured is None:
        text = gettext(
            "%(destination)s gets the same key again; nobody wrote down whether it makes a second effect of it:",
            **names,
        )
    else:
        text = gettext("%(destination)s gets the same key again, but makes a new effect of every request:", **names)
    return Effect(text, row.idempotency_key)


def _compensate(preview: Preview, _policies: Policies) -> Iterator[Effect]:
    row, planned = preview.operation, preview.compensation
    if planned is None:
        return
    yield Effect(
        gettext(
            "A new operation is created, “%(type)s”: %(what)s, to be done within %(deadline)s:",
            type=type_name(planned.type),
            what=_what(row, part=planned.amount),
            deadline=duration(planned.deadline),
        ),
        planned.operation_id,
    )
    yield Effect(
        gettext(
            "A worker sends it to %(destination)s with a key of its own:", destination=visible(planned.destination)
        ),
        planned.idempotency_key,
    )
    yield Effect(gettext("This operation stays in review until that one is confirmed; then it becomes Compensated."))
    yield Effect(gettext("Meanwhile it can be neither requeued nor confirmed nor closed."))
    yield _open_until_verified()


def _close(preview: Preview, _policies: Policies) -> Iterator[Effect]:
    yield _nothing_sent(preview)
    yield Effect(gettext("No further attempt is made, and it is no longer looked at."))
    yield Effect(gettext("Its idempotency record stays as it is."))
    yield _reopens()


def _confirm(preview: Preview, _policies: Policies) -> Iterator[Effect]:
    yield _nothing_sent(preview)
    if preview.operation.parent_id is not None:
        yield Effect(gettext("The operation that it undoes becomes Compensated."))
    yield Effect(gettext("No further attempt is made, and its deadline no longer counts."))
    yield Effect(gettext("Its idempotency record stays as it is."))
    yield _reopens()


def _escalate(preview: Preview, _policies: Policies) -> Iterator[Effect]:
    yield _nothing_sent(preview)
    if preview.operation.state == State.RETRY_SCHEDULED:
        yield Effect(gettext("The scheduled attempt is not made unless somebody requeues it."))
    yield Effect(gettext("It shows among the exceptions until an operator decides."))


def _reopen(preview: Preview, _policies: Policies) -> Iterator[Effect]:
    yield _nothing_sent(preview)
    yield Effect(gettext("It shows among the exceptions until an operator decides."))


def _what(row: Operation, *, part: str | None = None) -> str:
    amount = part or row.amount
    if amount is None:
        return entity_name(row)
    return gettext("%(amount)s for %(entity)s", amount=money(amount, row.currency), entity=entity_name(row))


def _nothing_sent(preview: Preview) -> Effect:
    where = visible(preview.operation.destination)
    return Effect(gettext("Nothing is sent to %(destination)s.", destination=where))


def _reopens() -> Effect:
    return Effect(gettext("A manager can reopen it."))


def _open_until_verified() -> Effect:
    return Effect(gettext("The action stays open as “effect to be verified” until a check shows what came of it."))


_BY_ACTION: dict[ActionName, Callable[[Preview, Policies], Iterator[Effect]]] = {
    ActionName.REQUEUE: _requeue,
    ActionName.COMPENSATE: _compensate,
    ActionName.CLOSE: _close,
    ActionName.CONFIRM: _confirm,
    ActionName.ESCALATE: _escalate,
    ActionName.REOPEN: _reopen,
}
