"""What the reconciler found, in sentences: what the destination says, and what was done or would be."""

from typing import Any

from flask_babel import LazyString

from dashboard.web.language import gettext, lazy_gettext

SAID: dict[str, LazyString] = {
    "agrees": lazy_gettext("The effect exists as expected."),
    "differs": lazy_gettext("An effect exists that differs from what was expected."),
    "proven_absent": lazy_gettext("The effect does not exist."),
    "several_candidates": lazy_gettext("The effect exists more than once."),
    "probe_failed": lazy_gettext("The destination could not be asked."),
    "no_probe": lazy_gettext("Nobody wrote down how to ask about this type of operation."),
    "answer_partial": lazy_gettext("The answer of the destination is not whole."),
    "not_comparable": lazy_gettext("The effect exists, but it cannot be compared with what was expected."),
    "view_too_old": lazy_gettext("The answer is too old to prove anything."),
    "first_miss": lazy_gettext("Nothing was found this time; a second check must agree before that is proof."),
    "absence_unproven": lazy_gettext("Nothing was found, and that proves nothing here."),
    "cancelled": lazy_gettext("The destination says it was cancelled."),
    "superseded": lazy_gettext("A newer version made it needless."),
}
DONE: dict[str, LazyString] = {
    "confirm": lazy_gettext("Confirmed."),
    "retry": lazy_gettext("Another attempt was scheduled."),
    "review": lazy_gettext("Sent to manual review."),
    "close": lazy_gettext("Closed as not applicable."),
    "wait": lazy_gettext("Left as it is; the check is recorded."),
}
WOULD: dict[str, LazyString] = {
    "confirm": lazy_gettext("Would be confirmed."),
    "retry": lazy_gettext("Another attempt would be scheduled."),
    "review": lazy_gettext("Would be sent to manual review."),
    "close": lazy_gettext("Would be closed as not applicable."),
    "wait": lazy_gettext("Would be left as it is."),
}
BECAUSE: dict[str, LazyString] = {
    "attempts_used_up": lazy_gettext("No attempt is left."),
    "past_deadline": lazy_gettext("The deadline has passed."),
    "changed_meanwhile": lazy_gettext("Somebody else changed it meanwhile."),
}
DETAILS: dict[str, LazyString] = {
    "unreachable": lazy_gettext("No connection."),
    "timed_out": lazy_gettext("No answer in time."),
    "tls_failed": lazy_gettext("The connection could not be secured."),
    "throttled": lazy_gettext("It asks to be left alone for a while."),
    "unauthorised": lazy_gettext("It does not accept our credentials."),
    "server_error": lazy_gettext("It has a fault of its own."),
    "status_unexpected": lazy_gettext("It answered with an unexpected status."),
    "redirected": lazy_gettext("It sends elsewhere, which is not followed."),
    "not_json": lazy_gettext("Its answer is not JSON."),
    "not_candidates": lazy_gettext("Its answer has no list where the policy looks for one."),
    "answer_too_large": lazy_gettext("Its answer is too large."),
    "answer_packed": lazy_gettext("Its answer is compressed."),
    "answer_unreadable": lazy_gettext("Its answer cannot be read."),
    "address_private": lazy_gettext("Its address is a private one, which the policy does not allow."),
    "address_missing": lazy_gettext("The policy names no address."),
    "secret_missing": lazy_gettext("The secret for it is not set."),
    "secret_invalid": lazy_gettext("The secret for it cannot be sent."),
    "placeholder_unknown": lazy_gettext("The operation lacks a value that the question needs."),
    "placeholder_refused": lazy_gettext("A value of the operation would change the address."),
    "expression_failed": lazy_gettext("An expression of the policy cannot be applied to its answer."),
    "query_failed": lazy_gettext("The query failed."),
    "function_failed": lazy_gettext("The function of the host failed."),
    "probe_unknown": lazy_gettext("There is no such kind of probe."),
}


def said(finding: Any) -> str:
    """What the destination says, and for a failure why it could not be asked."""
    evidence = finding.evidence or {}
    if finding.reason == "changed_meanwhile":
        return ""
    reason = str(evidence.get("reason", finding.reason))
    sentence = str(SAID.get(reason, reason.replace("_", " ")))
    detail = DETAILS.get(str(evidence.get("failed"))) if reason == "probe_failed" else None
    return f"{sentence} {detail}" if detail else sentence


def done(finding: Any) -> str:
    """What was done about it, or would have been."""
    because = BECAUSE.get(finding.reason)
    if finding.reason == "changed_meanwhile":
        return f"{gettext('Left alone.')} {because}"
    words = DONE if finding.applied else WOULD
    sentence = str(words.get(finding.response, finding.response))
    return f"{because} {sentence}" if because else sentence
