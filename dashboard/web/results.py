"""What was done, in a sentence that never says more than that: an effect that was asked for is not there yet."""

from flask_babel import LazyString

from dashboard.domain.actions import ActionName
from dashboard.domain.approval import ActionState
from dashboard.services.actions import Performed
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext

RESULTS: dict[ActionName, LazyString] = {
    ActionName.REQUEUE: lazy_gettext(
        "Requeued: scheduled for another attempt now. The effect is still to be verified."
    ),
    ActionName.COMPENSATE: lazy_gettext(
        "Compensation asked for: %(child)s waits for a worker. The effect is still to be verified."
    ),
    ActionName.CLOSE: lazy_gettext("Closed (%(reason)s). Nothing was sent."),
    ActionName.CONFIRM: lazy_gettext("Confirmed on your evidence. Nothing was sent."),
    ActionName.ESCALATE: lazy_gettext("Escalated: it waits in manual review for a decision. Nothing was sent."),
    ActionName.REOPEN: lazy_gettext("Reopened: it is in manual review again. Nothing was sent."),
}


def result(done: Performed, *, reason_code: str | None) -> str:
    """Say what the action did, or that nothing happened yet."""
    if done.state == ActionState.PROPOSED:
        return gettext("Proposed: it waits for approval. Nothing was done yet.")
    return str(RESULTS[done.action]) % {
        "child": done.child_operation_id,
        "reason": label("reason_code", reason_code) or gettext("as proposed"),
    }
