"""What the words of proposals, approvals and proof are called on screens; `labels` joins them to the others."""

from collections.abc import Mapping

from flask_babel import LazyString

from dashboard.web.language import lazy_gettext

DECISION_LABELS: Mapping[str, Mapping[str, LazyString]] = {
    "action_state": {
        "proposed": lazy_gettext("Waits for approval"),
        "executed": lazy_gettext("Executed"),
        "rejected": lazy_gettext("Rejected"),
        "withdrawn": lazy_gettext("Withdrawn"),
        "expired": lazy_gettext("Expired"),
        "void": lazy_gettext("Void"),
    },
    "vote": {
        "approve": lazy_gettext("Approved"),
        "reject": lazy_gettext("Rejected"),
        "withdraw": lazy_gettext("Withdrawn"),
    },
    "ended_because": {
        "operation_changed": lazy_gettext("The operation changed after it was proposed."),
        "evidence_changed": lazy_gettext("The stored proposal is not what was proposed."),
        "policy_asks_more": lazy_gettext("The policy in force asks for more than when it was proposed."),
        "proposer_may_not": lazy_gettext("Who proposed it may not ask for it any more."),
        "time_over": lazy_gettext("Nobody decided in time."),
        "reject": lazy_gettext("Somebody said no."),
        "withdraw": lazy_gettext("Who proposed it took it back."),
    },
    "demand": {
        "policy": lazy_gettext("Policy asks for it."),
        "above_limit": lazy_gettext("The amount is above the limit: a manager must agree."),
        "limit_unknown": lazy_gettext("Policy knows no limit for this amount or currency: a manager must agree."),
        "override": lazy_gettext("It would be done without proof: a manager must agree, whatever policy says."),
        "role": lazy_gettext("Your role proposes; operators decide."),
    },
    "proof": {
        "absent": lazy_gettext("A fresh check found no effect."),
        "exists": lazy_gettext("The effect exists."),
        "stale": lazy_gettext("The last check found nothing, but it is too old to prove anything now."),
        "sent_since": lazy_gettext("It was sent again after the last check, which therefore proves nothing."),
        "unproven": lazy_gettext("The last check did not prove that the effect is absent."),
        "never": lazy_gettext("Nobody has asked the destination yet."),
        "no_effect": lazy_gettext("The last check found no effect, so there may be nothing to undo."),
    },
}
