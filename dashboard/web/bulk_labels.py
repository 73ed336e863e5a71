"""What the words of plans are called on screens; `labels` joins them to the others."""

from collections.abc import Mapping

from flask_babel import LazyString

from dashboard.web.language import lazy_gettext

# What happens to a plan, as the audit log tells it.
BULK_STEPS: Mapping[str, LazyString] = {
    "bulk_plan": lazy_gettext("Make a plan"),
    "bulk_start": lazy_gettext("Send a plan"),
    "bulk_stop": lazy_gettext("Stop a plan"),
    "bulk_resume": lazy_gettext("Go on with a plan"),
    "bulk_pause": lazy_gettext("Pause a plan after its first operations"),
    "bulk_done": lazy_gettext("End a plan"),
    "bulk_broken": lazy_gettext("Stop a plan that failed"),
    "bulk_lapsed": lazy_gettext("Let a plan expire"),
}

BULK_LABELS: Mapping[str, Mapping[str, LazyString]] = {
    "plan_state": {
        "draft": lazy_gettext("Draft"),
        "waiting": lazy_gettext("Waits for approval"),
        "running": lazy_gettext("Running"),
        "paused": lazy_gettext("Waits for your go"),
        "stopped": lazy_gettext("Stopped"),
        "done": lazy_gettext("Ended"),
        "rejected": lazy_gettext("Rejected"),
        "withdrawn": lazy_gettext("Withdrawn"),
        "expired": lazy_gettext("Expired"),
        "void": lazy_gettext("Void"),
    },
    "plan_sentence": {
        "draft": lazy_gettext("A draft: look at it, and send it with your evidence. Nothing is done yet."),
        "waiting": lazy_gettext("Proposed; nothing is done until it is approved."),
        "running": lazy_gettext("A worker carries it out, row by row."),
        "paused": lazy_gettext("The first ones are done. Look at what came of them, then say go on."),
        "stopped": lazy_gettext("What is done stays done; the rest waits until somebody says go on."),
        "done": lazy_gettext("Every operation has had its turn; below is what became of each."),
        "rejected": lazy_gettext("Rejected; nothing was done."),
        "withdrawn": lazy_gettext("Withdrawn; what was left is not done any more."),
        "expired": lazy_gettext("Expired; nothing was done."),
        "void": lazy_gettext("Void; nothing was done."),
    },
    "plan_because": {
        "stopped": lazy_gettext("somebody stopped it"),
        "canary": lazy_gettext("the first ones are done"),
        "broken": lazy_gettext("something failed here; its log says what"),
        "time_over": lazy_gettext("nobody decided in time"),
        "policy_changed": lazy_gettext("the policies changed after it was made"),
        "evidence_changed": lazy_gettext("the stored plan is not what was proposed"),
        "reject": lazy_gettext("somebody said no"),
        "withdraw": lazy_gettext("who made it took it back"),
    },
    "plan_effect": {
        "requeue": lazy_gettext(
            "Each is sent once more by a worker, with its own key, and stays open until its effect is verified."
        ),
        "compensate": lazy_gettext(
            "For each a new operation with a key of its own is created, which undoes its effect; it stays in review "
            "until that one is confirmed."
        ),
        "close": lazy_gettext("Nothing is sent. They end without being done; a manager can reopen them."),
        "confirm": lazy_gettext("Nothing is sent. They count as done, on your word; a manager can reopen them."),
        "escalate": lazy_gettext("Nothing is sent. They wait for the people who decide."),
        "reopen": lazy_gettext("Nothing is sent. They wait for the people who decide, although they had ended."),
    },
    "row_outcome": {
        "left": lazy_gettext("Still to do"),
        "done": lazy_gettext("Done"),
        "skipped": lazy_gettext("Skipped"),
        "failed": lazy_gettext("Failed"),
        "ineligible": lazy_gettext("Left out"),
    },
    "row_code": {
        "changed_meanwhile": lazy_gettext("It changed after it was looked at."),
        "transition_not_allowed": lazy_gettext("Its state does not allow this."),
        "claimed": lazy_gettext("Somebody else has claimed it."),
        "proof_missing": lazy_gettext(
            "There is no proof that this is right for it: check it, or override it on its own page."
        ),
        "effect_exists": lazy_gettext("Its effect exists: confirm it instead."),
        "compensation_unknown": lazy_gettext("Policy names no compensation for its type."),
        "compensation_exists": lazy_gettext("A compensation exists already."),
        "compensation_unproven": lazy_gettext("A compensation was closed although it may have had its effect."),
        "compensation_open": lazy_gettext("A compensation is under way."),
        "approvals_missing": lazy_gettext("Those who agreed may not, or are not enough, as things are now."),
        "not_allowed": lazy_gettext("The role of who asked for it does not allow this."),
        "not_found": lazy_gettext("It is not within the roles of who asked for it."),
    },
}
