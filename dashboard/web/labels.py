"""What the values of our tables are called on screens, in a person's language.

`label("cause", "sent_unknown")` in Python, `{{ operation.cause|label("cause") }}` in templates. A value that is not
listed is shown as it is, without its underscores.
"""

from collections.abc import Mapping

from flask_babel import LazyString

from dashboard.domain.text import visible
from dashboard.web.alert_labels import ALERT_LABELS
from dashboard.web.bulk_labels import BULK_LABELS, BULK_STEPS
from dashboard.web.decision_labels import DECISION_LABELS
from dashboard.web.language import language, lazy_gettext
from dashboard.web.people_labels import PEOPLE_LABELS
from dashboard.web.trend_labels import TREND_LABELS

LABELS: Mapping[str, Mapping[str, LazyString]] = {
    "state": {
        "pending": lazy_gettext("Pending"),
        "processing": lazy_gettext("Processing"),
        "retry_scheduled": lazy_gettext("Retry scheduled"),
        "awaiting_confirmation": lazy_gettext("Awaiting confirmation"),
        "manual_review": lazy_gettext("Manual review"),
        "confirmed": lazy_gettext("Confirmed"),
        "compensated": lazy_gettext("Compensated"),
        "not_applicable": lazy_gettext("Not applicable"),
    },
    "verdict": {
        "correct": lazy_gettext("Correct"),
        "absent": lazy_gettext("Absent"),
        "divergent": lazy_gettext("Divergent"),
        "ambiguous": lazy_gettext("Ambiguous"),
        "not_applicable": lazy_gettext("Not applicable"),
    },
    "cause": {
        "not_sent": lazy_gettext("Not sent"),
        "throttled": lazy_gettext("Throttled"),
        "rejected": lazy_gettext("Rejected"),
        "sent_unknown": lazy_gettext("Sent, answer unknown"),
        "local_conflict": lazy_gettext("Local conflict"),
        "permanent": lazy_gettext("Permanent failure"),
    },
    "action": {
        "requeue": lazy_gettext("Requeue"),
        "compensate": lazy_gettext("Compensate"),
        "close": lazy_gettext("Close"),
        "confirm": lazy_gettext("Confirm"),
        "escalate": lazy_gettext("Escalate"),
        "reopen": lazy_gettext("Reopen"),
        "propose": lazy_gettext("Propose an action"),
        "approve": lazy_gettext("Approve"),
        "reject": lazy_gettext("Reject"),
        "withdraw": lazy_gettext("Withdraw"),
        "proposal_void": lazy_gettext("Void a proposal"),
        "proposal_expired": lazy_gettext("Let a proposal expire"),
        "claim": lazy_gettext("Claim"),
        "release": lazy_gettext("Release"),
        "takeover": lazy_gettext("Take over"),
        "note": lazy_gettext("Add a note"),
        "request": lazy_gettext("Send a request"),
        "sign_in": lazy_gettext("Sign in"),
        "sign_out": lazy_gettext("Sign out"),
        "signed_out_everywhere": lazy_gettext("Sign out everywhere"),
        "password_changed": lazy_gettext("Change password"),
        "preferences_changed": lazy_gettext("Change preferences"),
        "user_added": lazy_gettext("Add user"),
        "user_disabled": lazy_gettext("Disable user"),
        "user_enabled": lazy_gettext("Enable user"),
        "user_signed_on": lazy_gettext("Add user at the first sign-on"),
        "identity_linked": lazy_gettext("Tie an account to the identity provider"),
        "password_handed_over": lazy_gettext("Hand over an initial password"),
        "session_ended": lazy_gettext("End sessions"),
        "grant_added": lazy_gettext("Grant a role"),
        "grant_removed": lazy_gettext("Take a role away"),
        "grants_from_groups": lazy_gettext("Take roles from groups"),
        "token_added": lazy_gettext("Make a token"),
        "token_revoked": lazy_gettext("Revoke a token"),
        "alert_silence": lazy_gettext("Silence alerts"),
        "alert_unsilence": lazy_gettext("End a silence of alerts"),
        "policy_version": lazy_gettext("Use a new policy version"),
        "import": lazy_gettext("Import a file"),
        "outbox_redrive": lazy_gettext("Redrive a message"),
        "outbox_discard": lazy_gettext("Discard a message"),
        "check": lazy_gettext("Check at the destination"),
        "retention": lazy_gettext("Purge by retention"),
        "reconciliation_run": lazy_gettext("Reconciliation run"),
        "audit_verify": lazy_gettext("Verify the audit log"),
        "audit_anchor": lazy_gettext("Anchor the audit log"),
        "audit_export": lazy_gettext("Export the audit log"),
        "report_export": lazy_gettext("Export a report"),
        "reveal": lazy_gettext("Reveal a masked field"),
        "evidence_import": lazy_gettext("Import a result file"),
        "evidence_judged": lazy_gettext("Judge evidence received"),
        "receipt": lazy_gettext("Take a signed receipt"),
        "receipt_refused": lazy_gettext("Refuse a receipt"),
        **BULK_STEPS,
    },
    "reason_code": {
        "effect_absent": lazy_gettext("The effect does not exist"),
        "transient_fault": lazy_gettext("It was a passing fault"),
        "destination_fixed": lazy_gettext("The destination works again"),
        "customer_request": lazy_gettext("The customer asked for it"),
        "override": lazy_gettext("Override: do it without proof"),
        "charged_twice": lazy_gettext("The effect happened twice"),
        "order_cancelled": lazy_gettext("The order was cancelled"),
        "wrong_amount": lazy_gettext("The amount is wrong"),
        "other": lazy_gettext("Another reason, as the note says"),
        "cancelled": lazy_gettext("Cancelled"),
        "superseded": lazy_gettext("Superseded by a newer one"),
        "duplicate": lazy_gettext("A duplicate"),
        "written_off": lazy_gettext("Written off"),
        "test_data": lazy_gettext("Test data"),
        "seen_at_destination": lazy_gettext("Seen at the destination"),
        "confirmed_by_provider": lazy_gettext("Confirmed by the provider"),
        "confirmed_by_customer": lazy_gettext("Confirmed by the customer"),
        "receipt_received": lazy_gettext("A receipt was received"),
        "customer_waiting": lazy_gettext("A customer is waiting"),
        "high_value": lazy_gettext("It is worth a lot"),
        "needs_decision": lazy_gettext("It needs a decision"),
        "deadline_near": lazy_gettext("The deadline is near"),
        "closed_by_mistake": lazy_gettext("It was closed by mistake"),
        "new_evidence": lazy_gettext("There is new evidence"),
        "effect_missing": lazy_gettext("The effect is missing after all"),
        "effect_duplicated": lazy_gettext("The effect exists twice"),
    },
    "risk": {"low": lazy_gettext("Low"), "medium": lazy_gettext("Medium"), "high": lazy_gettext("High")},
    "risk_reason": {
        "sends_nothing": lazy_gettext("This sends nothing to the destination."),
        "effect_proven_absent": lazy_gettext("A fresh check found no effect at the destination."),
        "effect_seen": lazy_gettext("The effect was seen at the destination."),
        "effect_exists": lazy_gettext("The effect exists already: doing it again would make it twice."),
        "effect_differs": lazy_gettext("An effect exists that differs from what was expected."),
        "effect_unwanted": lazy_gettext("The effect is no longer wanted."),
        "effect_unproven": lazy_gettext("Nobody has proven whether the effect exists."),
        "effect_missing": lazy_gettext("The effect to undo was not found."),
        "proof_stale": lazy_gettext("The last check is too old to count as proof."),
        "never_checked": lazy_gettext("The destination was never asked."),
        "answer_unknown": lazy_gettext("The request was sent and its answer never came."),
        "never_started": lazy_gettext("The failed attempt never reached the destination."),
        "several_attempts": lazy_gettext("There were several attempts already."),
        "remote_id_known": lazy_gettext("The destination has given an id, so it took the request."),
        "key_honoured": lazy_gettext("The destination makes one effect of requests with the same key."),
        "key_not_honoured": lazy_gettext("The destination makes a new effect of every request."),
        "key_support_unknown": lazy_gettext("Nobody wrote down whether the destination honours keys."),
    },
    "event": {
        "transition": lazy_gettext("Change of state"),
        "attempt": lazy_gettext("Attempt"),
        "probe": lazy_gettext("Check at the destination"),
        "note": lazy_gettext("Note"),
        "claim": lazy_gettext("Claim"),
        "action": lazy_gettext("Action"),
        "approval": lazy_gettext("Approval"),
    },
    "actor": {
        "worker": lazy_gettext("Worker"),
        "reconciler": lazy_gettext("Reconciler"),
        "user": lazy_gettext("Person"),
        "api": lazy_gettext("API"),
        "system": lazy_gettext("System"),
    },
    "key_state": {
        "processing": lazy_gettext("Processing"),
        "pending": lazy_gettext("Pending"),
        "completed": lazy_gettext("Completed"),
        "failed": lazy_gettext("Failed"),
    },
    "message_state": {
        "pending": lazy_gettext("Waiting"),
        "published": lazy_gettext("Published"),
        "dead": lazy_gettext("Dead letter"),
        "discarded": lazy_gettext("Discarded"),
    },
    "outbox_decision": {"redrive": lazy_gettext("Redrive"), "discard": lazy_gettext("Discard")},
    "outcome": {
        "done": lazy_gettext("Done"),
        "refused": lazy_gettext("Refused"),
        "to_verify": lazy_gettext("Effect to be verified"),
        "verified": lazy_gettext("Effect verified"),
        "no_effect": lazy_gettext("Not as asked for"),
        "duplicated": lazy_gettext("Effect exists twice"),
    },
    **BULK_LABELS,
    **DECISION_LABELS,
    **PEOPLE_LABELS,
    **TREND_LABELS,
    **ALERT_LABELS,
    "why": {
        "divergent": lazy_gettext("Divergent"),
        "ambiguous": lazy_gettext("Ambiguous"),
        "effect_exists": lazy_gettext("Effect exists"),
        "absent": lazy_gettext("Effect absent"),
        "permanent": lazy_gettext("Permanent failure"),
        "review": lazy_gettext("To be reviewed"),
        "overdue": lazy_gettext("Overdue"),
    },
    "age_bucket": {
        "under_15m": lazy_gettext("< 15 min"),
        "15m_to_1h": lazy_gettext("15\N{EN DASH}60 min"),
        "1h_to_6h": lazy_gettext("1\N{EN DASH}6 h"),
        "6h_to_24h": lazy_gettext("6\N{EN DASH}24 h"),
        "1d_to_7d": lazy_gettext("1\N{EN DASH}7 d"),
        "over_7d": lazy_gettext("> 7 d"),
    },
    "age_windows": {
        "under_1": lazy_gettext("< 1"),
        "1_to_2": lazy_gettext("1\N{EN DASH}2"),
        "2_to_4": lazy_gettext("2\N{EN DASH}4"),
        "4_to_8": lazy_gettext("4\N{EN DASH}8"),
        "over_8": lazy_gettext("\N{GREATER-THAN OR EQUAL TO} 8"),
    },
    "role": {
        "support": lazy_gettext("Support"),
        "operator": lazy_gettext("Operator"),
        "manager": lazy_gettext("Manager"),
        "admin": lazy_gettext("Administrator"),
    },
    "probe": {
        "http": lazy_gettext("Asked over HTTP"),
        "sql": lazy_gettext("Asked by SQL"),
        "python": lazy_gettext("Asked by the host's function"),
        "file": lazy_gettext("Result files"),
        "receipt": lazy_gettext("Signed receipts"),
        "none": lazy_gettext("Cannot be asked"),
    },
    "response": {
        "confirm": lazy_gettext("Confirmed"),
        "retry": lazy_gettext("Sent again"),
        "review": lazy_gettext("A person decides"),
        "close": lazy_gettext("Closed"),
    },
    "mode": {"act": lazy_gettext("Acts"), "observe": lazy_gettext("Observes")},
    "field_kind": {
        "text": lazy_gettext("Text"),
        "integer": lazy_gettext("Whole number"),
        "decimal": lazy_gettext("Exact number"),
        "boolean": lazy_gettext("Yes or no"),
        "time": lazy_gettext("Time"),
    },
    "auth_kind": {
        "bearer": lazy_gettext("A bearer token"),
        "header": lazy_gettext("A header"),
        "basic": lazy_gettext("Name and password"),
    },
    "match": {
        "matched": lazy_gettext("Matched"),
        "unmatched": lazy_gettext("Fits no operation"),
        "several": lazy_gettext("Fits several"),
    },
    "evidence_source": {
        "file": lazy_gettext("Result file"),
        "receipt": lazy_gettext("Signed receipt"),
    },
    "theme": {
        "system": lazy_gettext("As the device"),
        "light": lazy_gettext("Light"),
        "dark": lazy_gettext("Dark"),
    },
    "field": {
        "note": lazy_gettext("Note"),
        "reason_code": lazy_gettext("Reason"),
        "reference": lazy_gettext("Reference"),
        "email": lazy_gettext("E-mail"),
        "locale": lazy_gettext("Language"),
        "timezone": lazy_gettext("Time zone"),
        "theme": lazy_gettext("Appearance"),
        "shortcuts": lazy_gettext("Keyboard shortcuts"),
    },
}


def label(kind: str, value: object) -> str:
    """Give what a value of this kind is called; an empty text for none."""
    if value is None:
        return ""
    words, spoken = str(value), language().labels
    if (kind, words) not in spoken:
        known = LABELS[kind].get(words)
        if known is None:  # it may be anything that a host writes, so it is not kept
            return visible(words.replace("_", " "))
        spoken[kind, words] = str(known)
    return spoken[kind, words]
