"""Codes in words: the one place where errors and problems of the layers below become sentences in a person's language.

A sentence may name the details its error carries, as in `%(minimum)s`.
"""

from collections.abc import Mapping

from flask_babel import LazyString

from dashboard.domain.errors import InvalidInputError, OperationsError, Problem
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext

SENTENCES: Mapping[str, LazyString] = {
    # evidence
    "reason_missing": lazy_gettext("Choose a reason."),
    "reason_unknown": lazy_gettext("Choose one of the reasons in the list."),
    "note_missing": lazy_gettext("Write a note."),
    "note_too_short": lazy_gettext(
        "The note says %(length)s characters; at least %(minimum)s are needed, not counting padding."
    ),
    "note_too_long": lazy_gettext("The note has %(length)s characters; at most %(maximum)s fit."),
    "reference_too_long": lazy_gettext("The reference has %(length)s characters; at most %(maximum)s fit."),
    "month_invalid": lazy_gettext("This is no month: choose one from the list."),
    "field_not_masked": lazy_gettext("Choose one of the masked fields in the list."),
    "export_too_large": lazy_gettext(
        "An export on screen has at most %(maximum)s entries. Give a shorter time, or use `dashboard audit export`."
    ),
    "export_too_often": lazy_gettext("You have made %(maximum)s exports within an hour. Wait, then try again."),
    "text_invalid": lazy_gettext("This text has characters that cannot be stored."),
    "text_nul": lazy_gettext("This text has a NUL character, which cannot be stored."),
    "text_surrogate": lazy_gettext("This text has half of a character, which cannot be stored."),
    "key_invalid": lazy_gettext("The form came without its key. Check it and send it once more."),
    "key_reused": lazy_gettext("This form was already used for something else. Open the page again."),
    # actions
    "not_found": lazy_gettext("There is nothing at this address, or not for you."),
    "not_allowed": lazy_gettext("Your role does not allow this."),
    "changed_meanwhile": lazy_gettext("Somebody else changed this meanwhile. Nothing was overwritten."),
    "check_busy": lazy_gettext("Somebody is at this operation right now, or it is being sent. Try again in a moment."),
    "transition_not_allowed": lazy_gettext("This cannot be done in the state the operation is in."),
    "compensation_unknown": lazy_gettext("Policy names no compensation for this type of operation."),
    "compensation_exists": lazy_gettext("A compensation exists already: %(operation_id)s."),
    "compensation_unproven": lazy_gettext(
        "A compensation was closed although it may have had its effect: %(operation_id)s. "
        "Reopen that one and prove it instead."
    ),
    "compensation_open": lazy_gettext("A compensation is under way: %(operation_id)s. Wait for it, or close it first."),
    "effect_exists": lazy_gettext("The effect exists: sending it again would make it twice. Confirm it instead."),
    "proof_missing": lazy_gettext(
        "There is no proof that this is right. Check now, or give the override as reason: a manager must approve it."
    ),
    "override_needless": lazy_gettext("Nothing has to be overridden: choose another reason."),
    "partial_not_allowed": lazy_gettext("Policy allows no part of this: leave the amount empty."),
    "amount_unreadable": lazy_gettext("This is not an amount such as 12.50."),
    "amount_not_positive": lazy_gettext("Give an amount above zero."),
    "amount_above_rest": lazy_gettext("This is more than the %(left)s %(currency)s that are left to give back."),
    # silences of alerts
    "rule_unknown": lazy_gettext("Choose one of the alerts in the list."),
    "silence_length_invalid": lazy_gettext("Choose one of the lengths in the list."),
    # claims
    "claimed": lazy_gettext("%(claimed_by)s has claimed this. Wait until it is released, or take it over with a note."),
    "not_open": lazy_gettext("It has ended: there is nothing to claim."),
    # approvals
    "proposed_already": lazy_gettext("%(requested_by)s has proposed this already. It waits for approval."),
    "own_approval": lazy_gettext("Nobody decides about their own proposal. You can withdraw it."),
    "not_proposer": lazy_gettext("Only who proposed it can withdraw it. You can reject it."),
    "voted_already": lazy_gettext("You have decided about this before. Everybody has one vote."),
    "not_waiting": lazy_gettext("This does not wait for a decision any more. Nothing was changed."),
    "approval_void": lazy_gettext(
        "This proposal is void: the operation, the evidence or the policy is no longer what was proposed. Nothing was "
        "done; it can be proposed anew."
    ),
    "approval_expired": lazy_gettext("This proposal has expired. Nothing was done; it can be proposed anew."),
    # plans
    "plan_empty": lazy_gettext("No operation is ticked or matches, so there is nothing to plan. Tick some first."),
    "plan_too_large": lazy_gettext(
        "A plan has at most %(maximum)s operations, and more than that match. Narrow the list by type, cause, age or "
        "tenant, and make several plans."
    ),
    "plan_nothing_eligible": lazy_gettext("Nothing of this plan can be done. Its page says why."),
    "not_planner": lazy_gettext("Only who made the plan can send it. You can make one of your own."),
    "approvals_missing": lazy_gettext("Not enough people who may have agreed to this."),
    "number_invalid": lazy_gettext("Give a whole number from %(minimum)s to %(maximum)s, or nothing."),
    "revision_invalid": lazy_gettext("The form came without the revision it is about. Check it and send it once more."),
    "invalid_input": lazy_gettext("Some fields need another look."),
    # messages
    "letter_not_dead": lazy_gettext("This message is not dead any more. Nothing was changed."),
    "text_missing": lazy_gettext("Write something here."),
    "name_too_long": lazy_gettext("This has %(length)s characters; at most %(maximum)s fit."),
    "payload_invalid": lazy_gettext("This cannot be written as JSON: %(reason)s."),
    "payload_too_long": lazy_gettext("This is %(length)s characters of JSON; at most %(maximum)s fit."),
    # people
    "email_invalid": lazy_gettext("This is not an e-mail address."),
    "email_taken": lazy_gettext("Somebody has this e-mail address already."),
    "password_too_short": lazy_gettext("Use at least %(minimum)s characters."),
    "password_too_long": lazy_gettext("Use at most %(maximum)s characters."),
    "password_too_simple": lazy_gettext("This password is too easy to guess."),
    "password_wrong": lazy_gettext("This is not your current password."),
    "password_throttled": lazy_gettext("Too many failed attempts. Try again in %(minutes)s min."),
    "passwords_differ": lazy_gettext("The two new passwords are not the same."),
    "grant_mixes_admin": lazy_gettext(
        "An administrator has no other role: who hands out roles neither proposes nor approves."
    ),
    "grants_from_groups": lazy_gettext(
        "The groups at the identity provider decide what this person may do: change them there."
    ),
    "grant_own": lazy_gettext("You cannot take away your own role. Ask another administrator."),
    "account_own": lazy_gettext("You cannot disable your own account. Ask another administrator."),
    "password_same": lazy_gettext("Choose another password than the one you were given."),
    "local_sign_in_off": lazy_gettext("Passwords are not used here. Sign in at the identity provider."),
    "subject_unknown": lazy_gettext("Write the subject just as the provider names it, at most 255 characters."),
    "identity_exists": lazy_gettext("This person signs in at the identity provider already."),
    "identity_taken": lazy_gettext("Another account is tied to this subject already."),
    "password_own": lazy_gettext("Change your own password on your account page."),
    "password_of_provider": lazy_gettext("This person signs in at the identity provider and has no password here."),
    "role_unknown": lazy_gettext("Choose one of the roles in the list."),
    "scope_invalid": lazy_gettext("Use 1 to %(maximum)s characters."),
    # tokens
    "token_unknown": lazy_gettext("There is no such token."),
    "token_expired": lazy_gettext("The token has expired."),
    "token_revoked": lazy_gettext("The token was revoked."),
    "token_not_found": lazy_gettext("There is no token %(name)s."),
    "token_name_invalid": lazy_gettext("Use 1 to 64 letters, digits or . _ - and begin with a letter or digit."),
    "token_name_taken": lazy_gettext("There is or was a token of this name; choose another."),
    "token_permission_invalid": lazy_gettext("Choose at least one permission that a token may have."),
    "token_life_invalid": lazy_gettext("Choose from one minute to %(maximum)s days."),
    "locale_unknown": lazy_gettext("Choose one of the languages in the list."),
    "timezone_unknown": lazy_gettext("Choose one of the time zones in the list."),
    "theme_unknown": lazy_gettext("Choose one of the appearances in the list."),
    # signing on at the identity provider
    "provider_away": lazy_gettext("The identity provider does not answer. Try again in a moment."),
    "provider_refused": lazy_gettext(
        "The identity provider did not accept the sign-on. Ask an administrator to compare the settings of both sides."
    ),
    "token_invalid": lazy_gettext("What the identity provider sent could not be verified. You were not signed in."),
    "state_wrong": lazy_gettext(
        "This answer belongs to no sign-on of this browser, or to one that took too long. Sign in again from here."
    ),
    "access_denied": lazy_gettext("The sign-on was cancelled at the identity provider."),
    "clock_differs": lazy_gettext(
        "The clocks of the identity provider and of this application differ too much, or the answer took too long. "
        "Try again; if it stays, tell an administrator."
    ),
    # evidence that came by itself
    "evidence_for_all": lazy_gettext(
        "What fits no operation has no tenant, so this list is for people whose role holds for all tenants and types."
    ),
    "receipts_unconfigured": lazy_gettext("No acknowledgements are taken for this destination."),
    "receipts_secret_unset": lazy_gettext("The secret of this destination is not set up; try again later."),
    "signature_missing": lazy_gettext("The message is not signed."),
    "signature_wrong": lazy_gettext("The signature does not fit the message."),
    "signature_old": lazy_gettext("The message was signed too long ago, or ahead of time."),
    "receipt_unreadable": lazy_gettext("The message is signed, but not what the policy describes."),
    # lists
    "filter_unknown": lazy_gettext("“%(value)s” is none of its values."),
    "limit_invalid": lazy_gettext("“%(value)s” is not a number of rows from 1 to %(maximum)s."),
    "age_invalid": lazy_gettext("“%(value)s” is not a length of time such as 90s, 15m, 2h, 3d or 2w."),
    "moment_invalid": lazy_gettext("“%(value)s” is not a time such as 2026-11-30 or 2026-11-30T12:00:00Z."),
    "text_too_long": lazy_gettext("“%(value)s” has %(length)s characters; at most %(maximum)s are compared."),
    "text_unsearchable": lazy_gettext("“%(value)s” has characters that cannot be stored or searched for."),
    "sort_open_only": lazy_gettext(
        "“%(value)s” sorts open work only. Choose open states, or only what is overdue, to sort by it."
    ),
    "cursor_invalid": lazy_gettext("This page of the list does not exist. Start from its beginning."),
    "cursor_twice": lazy_gettext("A page begins behind a row or ends before one, not both."),
}


def in_words(problem: OperationsError | Problem) -> str:
    """Say what is wrong; an unknown code is shown as it is, because silence would help nobody."""
    sentence = SENTENCES.get(problem.code)
    if sentence is None:
        return gettext("This is not possible (%(code)s).", code=problem.code)
    return str(sentence) % _Details(problem.details)


def by_field(error: InvalidInputError) -> dict[str, str]:
    """Give the sentence of each bad field, for the form that shows them beside it."""
    return {problem.field: in_words(problem) for problem in error.problems}


def field_name(name: str) -> str:
    """Give what a form calls the field."""
    return label("field", name)


class _Details(dict[str, object]):
    # A sentence with a gap is better than a page that fails.
    def __missing__(self, name: str) -> str:
        return "?"
