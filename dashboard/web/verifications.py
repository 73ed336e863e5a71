"""What a verification of the audit log found, in words: the same as `dashboard audit verify` says, and what to do."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from flask_babel import LazyString

from dashboard.services.audit import Verification
from dashboard.web.formatting import number
from dashboard.web.language import gettext, lazy_gettext, ngettext

PROBLEMS: Mapping[str, LazyString] = {
    "gap": lazy_gettext("Entry %(seq)s is missing."),
    "changed": lazy_gettext("Entry %(seq)s was changed after it was written."),
    "unlinked": lazy_gettext("Entry %(seq)s does not follow from the entry before it."),
    "tail_cut": lazy_gettext("The log ends before entry %(seq)s: the end was cut off."),
    "head_changed": lazy_gettext("The head of the log does not agree with its last entry, %(seq)s."),
    "run_changed": lazy_gettext(
        "The findings of reconciliation run %(detail)s are not those that entry %(seq)s recorded."
    ),
    "anchor_forged": lazy_gettext("The signature of the anchor at %(detail)s does not fit."),
    "anchor_untrusted": lazy_gettext("The anchor at %(detail)s is signed by a key that is not trusted."),
    "anchor_foreign": lazy_gettext(
        "The anchor at %(detail)s is of another database, or the first entry was rewritten."
    ),
    "anchor_differs": lazy_gettext("Entry %(seq)s does not fit the anchor at %(detail)s."),
    "anchor_cut": lazy_gettext("The log ends before entry %(seq)s, which the anchor at %(detail)s names."),
}
MEANINGS: Mapping[str, LazyString] = {
    "gap": lazy_gettext("The number was given to an entry once, and it is gone or renumbered."),
    "changed": lazy_gettext("Its stored hash is not the hash of what it says now: a field or the hash was altered."),
    "unlinked": lazy_gettext("It names another hash than that of the entry before: one of the two was put in later."),
    "tail_cut": lazy_gettext("The head remembers later entries than the log has."),
    "head_changed": lazy_gettext(
        "Either the last entry was rewritten, entries were added past the application, or the head was altered."
    ),
    "run_changed": lazy_gettext("A finding of the run was altered, added or removed after the run ended."),
    "anchor_forged": lazy_gettext("It was altered, or the log was rewritten by somebody without the key."),
    "anchor_untrusted": lazy_gettext("Whoever rewrites the log can sign it with a key of their own."),
    "anchor_foreign": lazy_gettext("It belongs to another log than this one."),
    "anchor_differs": lazy_gettext("The log was rewritten at the entry that the anchor names, or before it."),
    "anchor_cut": lazy_gettext("The end of the log was cut off together with its head."),
}
STEPS = (
    lazy_gettext("Change nothing in the database and keep a copy of it as it is, with its backups."),
    lazy_gettext("Compare the entry with the newest backup that verifies: it shows what was altered, and since when."),
    lazy_gettext("Find out who could write to the database as its owner in that time; the application itself cannot."),
)


@dataclass(frozen=True)
class Finding:
    """A verification in words."""

    tone: str
    short: str
    title: str
    text: str
    steps: tuple[str, ...]
    broken_seq: int | None


def finding_of(found: Verification) -> Finding:
    """Say what was found, what it means and what to do."""
    if found.problem is None:
        return Finding("ok", _intact(found), _intact(found), _proven(found), (), found.broken_seq)
    what = str(PROBLEMS.get(found.problem, found.problem)) % {
        "seq": number(found.broken_seq),
        "detail": found.detail or "",
    }
    return Finding(
        tone="danger",
        short=gettext("Broken at entry %(seq)s", seq=number(found.broken_seq)),
        title=gettext("Broken: %(what)s", what=what),
        text=" ".join([str(MEANINGS.get(found.problem, "")), _before(found), gettext("What follows proves nothing.")]),
        steps=tuple(map(str, STEPS)),
        broken_seq=found.broken_seq,
    )


def found_in(evidence: str | None) -> Verification | None:
    """Read a verification back from an entry's evidence; None where it holds none."""
    try:
        return Verification(**json.loads(evidence or ""))
    except (ValueError, TypeError):
        return None


def _intact(found: Verification) -> str:
    return str(
        ngettext("Intact: %(count)s entry", "Intact: %(count)s entries", found.checked, count=number(found.checked))
    )


def _proven(found: Verification) -> str:
    chain = gettext("Each is as it was written and follows from the one before it, and none is missing.")
    runs = ngettext(
        "%(num)s run has the findings it recorded.", "%(num)s runs have the findings they recorded.", found.runs
    )
    anchors = ngettext("%(num)s anchor fits.", "%(num)s anchors fit.", found.anchors)
    return " ".join([chain, *([runs] if found.runs else []), *([anchors] if found.anchors else [])])


def _before(found: Verification) -> str:
    return str(
        ngettext(
            "The %(count)s entry before it agrees.",
            "The %(count)s entries before it agree.",
            found.checked,
            count=number(found.checked),
        )
    )
