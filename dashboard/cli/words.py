"""The words of the command line for the codes of errors and problems; each says how to mend it."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from dashboard.cli.policy_words import POLICY_WORDS, policy_in_words
from dashboard.domain.errors import InvalidInputError, OperationsError, Problem

WORDS: Mapping[str, str] = MappingProxyType(
    {
        # Errors of a command
        "database_not_ready": "The database is {current}, this release needs {needed}: run `dashboard db upgrade`.",
        "not_found": "There is no {email}.",
        # Anchors of the audit log
        "anchor_invalid": "It is no anchor: {reason}. Give a file that `dashboard audit anchor` printed.",
        "anchor_key_missing": "Give it with --key FILE or in DASHBOARD_AUDIT_KEY; `dashboard audit key` makes one.",
        "anchor_key_exists": "{path} exists already: choose another name, and keep the old key.",
        "anchor_key_exposed": "Others can read {path} (mode {mode}): run `chmod 600` on it, or make a new key.",
        "anchor_key_invalid": "{path} holds no Ed25519 private key in PEM; `dashboard audit key` makes one.",
        "anchor_of_broken_log": "The log is broken at entry {seq}: run `dashboard audit verify`. Nothing was signed.",
        "anchor_of_empty_log": "The log is empty: there is nothing to sign yet.",
        "export_too_large": "More than {maximum} entries: give a shorter time.",
        "export_too_often": "{maximum} exports were made within an hour: wait.",
        # Settings
        "secret_missing": "Set it to a secret of at least {minimum} characters.",
        "demo_served": "The key of the demo is public: unset it, or run `dashboard demo`.",
        "handlers_unknown": "Name them as module:registry, where registry is a ledger.Handlers: {reason}.",
        # People
        "email_invalid": "Give an e-mail address, such as support@example.com.",
        "email_taken": "Somebody has this address already; `dashboard user grant` adds a role.",
        "password_too_short": "Choose a password of at least {minimum} characters.",
        "password_too_long": "Choose a password of at most {maximum} characters.",
        "password_too_simple": "Choose a password that is neither the address nor one repeated character.",
        "grant_mixes_admin": "An admin has no other role: add a second address for one of the two.",
        "subject_unknown": "Write the subject just as the provider names it, at most 255 characters.",
        "identity_exists": "This person signs in at the identity provider already.",
        "identity_taken": "Another account is tied to this subject already.",
        "oidc_off": "Set DASHBOARD_OIDC_ISSUER and what belongs to it: there is no identity provider.",
        "grants_from_groups": "The groups at the identity provider decide what this person may do: change them there.",
        "groups_unreadable": "The file cannot be read as TOML: {reason}.",
        "groups_invalid": "Correct this key: {reason}.",
        "scope_invalid": "Give a name of 1 to {maximum} characters.",
        # Tokens
        "token_not_found": "There is no token {name}.",
        "token_name_invalid": "Use 1 to 64 letters, digits or . _ - and begin with a letter or digit.",
        "token_name_taken": "There is or was a token of this name; choose another, so that the audit log stays clear.",
        "token_permission_invalid": "Give at least one of {allowed}.",
        "token_life_invalid": "Choose from one minute to {maximum} days.",
        # Decisions
        "sign_in_refused": "This is not the password of an account that may sign in ({reason}).",
        "password_initial": "The password was set by somebody else: sign in on screen and choose your own first.",
        "not_allowed": "The grants of this account do not reach that far: it lacks {permission}.",
        "own_approval": "Nobody decides about their own proposal; `dashboard action withdraw` takes it back.",
        "not_proposer": "Only who proposed it can withdraw it; `dashboard action reject` refuses it.",
        "voted_already": "This account has decided about it before ({vote}): everybody has one vote.",
        "not_waiting": "It does not wait for a decision any more: it is {state}.",
        "approval_void": "It is void ({because}): nothing was done, and it can be proposed anew.",
        "approval_expired": "It has expired: nothing was done, and it can be proposed anew.",
        "proof_missing": "There is no fresh proof that the effect is absent ({proof}): check the operation first.",
        "effect_exists": "The effect exists: sending it again would make it twice. Confirm the operation instead.",
        "claimed": "{claimed_by} has claimed the operation until {until}.",
        "note_missing": "Say why with --note, in at least {minimum} characters.",
        "note_too_short": "Say more with --note: it says {length} characters, at least {minimum} are needed.",
        # A line of a file as a whole
        "not_json": "The line is not JSON ({reason}, column {column}): write one whole JSON object on one line.",
        "not_utf8": "The line is not UTF-8 (byte {position}): save the file as UTF-8, and export a cut line again.",
        "not_an_object": 'The line is no JSON object: write one, such as {{"kind": "operation", ...}}.',
        "line_too_long": "The line is longer than {maximum} bytes: leave out what is not needed.",
        "too_deep": "It is nested deeper than {maximum} levels: flatten it.",
        "duplicate_name": "The name stands twice in one object: keep one of them.",
        "database_refused": "The database refuses the line ({reason}): check its values.",
        # One field of a line
        "kind_missing": "The line does not say what it is: add one of {allowed}.",
        "kind_unknown": "There is no such kind: write one of {allowed}.",
        "missing": "The field is missing: add it.",
        "extra_forbidden": "There is no such field: remove it or correct its name.",
        "string_type": "It must be text in quotes; it cannot be null, a number or true.",
        "string_too_short": "It must not be empty.",
        "string_too_long": "It is longer than {max_length} characters: shorten it.",
        "string_unicode": "The text holds half a character (a lone surrogate): write the whole character.",
        "string_pattern_mismatch": "It must be one of processing, pending, completed or failed.",
        "text_nul": "The text holds a NUL character: remove it.",
        "text_surrogate": "The text holds half a character (a lone surrogate): write the whole character.",
        "operation_id_invalid": (
            "It must be 1 to 128 letters A-Z or a-z, digits or . _ : ~ - and begin with a letter or digit."
        ),
        "operation_unknown": (
            "No operation of this name is in the database or earlier in the file: put its line before this one."
        ),
        "enum": "It must be one of {expected}.",
        "int_type": "It must be a whole number without quotes.",
        "greater_than_equal": "It must be at least {ge}.",
        "less_than_equal": "It must be at most {le}.",
        "dict_type": "It must be a JSON object.",
        "list_type": "It must be a JSON list.",
        "too_short": "The list must have {min_length} entries.",
        "too_long": "The list must have {max_length} entries.",
        "number_lost": "It holds a number that cannot be kept exactly: write it as text in quotes.",
        "time_invalid": 'It must be a time in quotes with its zone, such as "2026-11-30T10:00:00Z".',
        "time_naive": "The time has no zone: add Z for UTC, or an offset such as +01:00.",
        "time_range": "The time lies before 1970 or after 9998: correct it.",
        "amount_invalid": 'It must be a plain decimal number in quotes, such as "10.50".',
        "amount_alone": "An amount needs a currency and a currency an amount: give both or neither.",
        "currency_invalid": "It must be a currency code of three capital letters, such as EUR.",
        # Result files of destinations
        "evidence_unconfigured": (
            "The policy file describes no result files of {destination}: write [destinations.{destination}.evidence]."
        ),
        "column_missing": "The header has no such column (it has: {allowed}): correct the policy or the file.",
        "column_twice": "The header has this column twice: keep one of them.",
        "cells_miscounted": "The row has {count} cells where the header has {expected}: export it again.",
        "row_unreadable": "The row cannot be read ({reason}): export it again.",
        "not_decodable": "The line is not {encoding} (byte {position}): correct `encoding` in the policy, or the file.",
        "name_invalid": "It must be text or a whole number.",
        "nothing_named": "The line names no operation: it needs one of {allowed}.",
        "moment_unreadable": "It must be a time with its zone, or seconds since 1970.",
        "expression_failed": "The policy's expression cannot be applied to this line: {reason}.",
        "event_id_reused": "The same event id came before with another content, which was kept: nothing was changed.",
        "evidence_unmatched": "No operation of this destination fits; the line is kept.",
        "evidence_several": "More than one operation fits, so nobody guessed; the line is kept.",
    }
)


def in_words(code: str, details: Mapping[str, object]) -> str:
    """Give the sentence for a code; one that has none is told as it is."""
    template = WORDS.get(code)
    if template is None:
        return " ".join([code.replace("_", " "), *(f"{name}={value}" for name, value in details.items())])
    return template.format_map({name: _listed(value) for name, value in details.items()})


def problem_in_words(problem: Problem) -> str:
    """Give the sentence for one bad field, without its name."""
    if problem.code in POLICY_WORDS:
        return policy_in_words(problem)
    return in_words(problem.code, problem.details)


def lines_of(error: OperationsError) -> Iterator[str]:
    """Give one line for each thing that is wrong."""
    if not isinstance(error, InvalidInputError):
        yield in_words(error.code, error.details)
        return
    for problem in error.problems:
        yield f"{problem.field}: {problem_in_words(problem)}"


def _listed(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value
